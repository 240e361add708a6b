// A call without slices, such as a kernel for symmetric memory, of which only the time and the bytes are known:
//
//   T = before + max( least, b / r )                                                                                (1)
//
// `before` is the time until the first byte moves, and `least` is the time of the b bytes however fast the links are,
// in s; r is the share of the links in B/s. A contended link makes such a call longer, and an idle one does not make it
// shorter.
#include <algorithm>

#include "timing.hpp"

namespace fabricast {

namespace {

void time_whole(const ChannelView& v, const Stream& stream, ChannelTime& t) {
  const auto bytes = static_cast<double>(stream.slice);
  // `least` assumes the links of NCCL's estimate. Those of this node may be slower.
  t.whole = {1, stream.alone.least, bytes, bytes};
  t.makespan = t.work = stream.alone.before + t.whole.seconds(v.rate);
  t.by_kernel = t.whole.least > t.whole.bytes / v.rate;
}

void split_whole(const ChannelView&, const Stream& stream, ChannelTime& t) {
  // Nothing overlaps here: everything except latency is transfer.
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
