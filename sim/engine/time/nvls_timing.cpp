// NVLS and NVLSTree: data are copied in, reduced and multicast by the NVSwitch, in NVLSTree also sent up and down a
// tree of nodes, and copied out.
//
//   T = makespan of the pipeline over the longest path of any head (nvls_path in tree_path.cpp)                     (1)
#include "timing.hpp"

namespace fabricast {

Timing nvls_timing() {
  return {.name = "nvls",
          .summary = "in the NVSwitch, with or without a tree of nodes",
          .makespan = makespan_along<nvls_path>};
}

}  // namespace fabricast
