// A call without slices, of which only the time and the bytes are known, as of kernels for symmetric memory:
//
//   T = before + max( least, b / r )                                                                                (1)
//
// `before` is what passes until any byte moves and `least` what the b bytes take however fast the links are, in s; r is
// the share of the links in B/s. A crowded link makes such a call longer; an idle one leaves it as it is.
#include <algorithm>

#include "timing.hpp"

namespace fabricast {

namespace {

void time_whole(const ChannelView& v, const Stream& stream, ChannelTime& t) {
  const auto bytes = static_cast<double>(stream.slice);
  // `least` is for links as fast as the estimate takes them to be; those of this fabric may be slower.
  t.whole = {1, stream.alone.least, bytes, bytes};
  t.makespan = t.work = stream.alone.before + t.whole.seconds(v.rate);
  t.by_kernel = t.whole.least > t.whole.bytes / v.rate;
}

void split_whole(const ChannelView&, const Stream& stream, ChannelTime& t) {
  // Nothing overlaps here: what is not latency is transfer.
  t.latency = std::min(t.makespan, stream.alone.empty);
  t.transfer = t.makespan - t.latency;
}

}  // namespace

Timing whole_timing() {
  return {.name = "whole",
          .summary = "one transfer, of which only the time and the bytes are known",
          .time_whole = time_whole,
          .split_whole = split_whole};
}

}  // namespace fabricast
