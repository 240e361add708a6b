// Copied in, reduced and handed out by the NVSwitch, perhaps up and down a tree of nodes, copied out.
#include "timing.hpp"

namespace fabricast {

namespace {

double makespan(const Services& services, const Stream& stream, double scale) {
  return makespan_of(nvls_path(services, slice_bytes(stream, scale)), stream);
}

}  // namespace

Timing nvls_timing() {
  return {.name = "nvls", .summary = "in the NVSwitch, and perhaps up and down a tree of nodes", .makespan = makespan};
}

}  // namespace fabricast
