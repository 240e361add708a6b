// A pipeline from the first rank to the last, for broadcast and reduce. With `skew` of paths.hpp, in s,
//
//   T = chain_makespan,      pace of calls back to back = work of the busiest station + skew                        (1)
//
// Only chains have a skew: channels visit the GPUs of a node in different orders, so a rank is early in one channel and
// late in another.
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
