// CollNetChain: down and up a chain of GPUs inside the nodes, and through the switches that reduce between them.
//
//   T = makespan of the pipeline  chain up, proxy thread, tree of switches, chain down (sharp_path.cpp)             (1)
#include "timing.hpp"

namespace fabricast {

namespace {

double makespan(const Services& services, const Stream& stream, double scale) {
  return makespan_of(sharp_path(services, slice_bytes(stream, scale), NodePart::chain), stream);
}

}  // namespace

Timing sharp_chain_timing() {
  return {
      .name = "sharp_chain", .summary = "chains inside nodes, switches that reduce between them", .makespan = makespan};
}

}  // namespace fabricast
