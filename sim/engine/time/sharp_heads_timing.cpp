// CollNetDirect: up to heads inside the nodes, through the switches that reduce, and down again.
//
//   T = makespan of the pipeline  GPU, head, proxy thread, tree of switches, head, GPU (sharp_path.cpp)             (1)
#include "timing.hpp"

namespace fabricast {

namespace {

Pipeline path(const Services& services, SliceBytes bytes) { return sharp_path(services, bytes, NodePart::heads); }

}  // namespace

Timing sharp_heads_timing() {
  return {.name = "sharp_heads",
          .summary = "heads inside nodes, switches that reduce between them",
          .makespan = makespan_along<path>};
}

}  // namespace fabricast
