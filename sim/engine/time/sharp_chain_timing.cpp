// CollNetChain: up a chain of GPUs inside the nodes, through the switches that reduce between them, and down again.
//
//   T = makespan of the pipeline  chain up, proxy thread, tree of switches, chain down (sharp_path.cpp)             (1)
#include "timing.hpp"

namespace fabricast {

namespace {

Pipeline path(const Services& services, SliceBytes bytes) { return sharp_path(services, bytes, NodePart::chain); }

}  // namespace

Timing sharp_chain_timing() {
  return {.name = "sharp_chain",
          .summary = "chains inside nodes, switches that reduce between them",
          .makespan = makespan_along<path>};
}

}  // namespace fabricast
