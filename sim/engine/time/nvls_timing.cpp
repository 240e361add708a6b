// NVLS and NVLSTree: copied in, reduced and handed out by the NVSwitch, perhaps up and down a tree of nodes, copied
// out.
//
//   T = makespan of the pipeline over the longest path of any head (nvls_path in tree_path.cpp)                     (1)
#include "timing.hpp"

namespace fabricast {

Timing nvls_timing() {
  return {.name = "nvls",
          .summary = "in the NVSwitch, and perhaps up and down a tree of nodes",
          .makespan = makespan_along<nvls_path>};
}

}  // namespace fabricast
