// A pipeline from the first rank to the last.
#include "timing.hpp"

namespace fabricast {

namespace {

double makespan(const Services& services, const Stream& stream, double scale) {
  return chain_makespan(services, stream, slice_bytes(stream, scale));
}

double skew(const Services& services, const Stream& stream) {
  return chain_skew(services, stream, slice_bytes(stream, 1));
}

}  // namespace

Timing chain_timing() {
  return {.name = "chain", .summary = "a pipeline from the first rank to the last", .makespan = makespan, .skew = skew};
}

}  // namespace fabricast
