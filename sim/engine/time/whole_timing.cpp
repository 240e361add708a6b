// A call without slices, of which only the time and the bytes are known: `before` any byte moves, then its bytes at its
// share of the links, or as long as it takes by itself if that is longer.
#include <algorithm>

#include "timing.hpp"

namespace fabricast {

namespace {

void time_whole(const ChannelView& v, const Stream& stream, ChannelTime& t) {
  const auto bytes = static_cast<double>(stream.slice);
  // Links may be slower than the estimate takes them to be.
  t.whole = {1, stream.alone.least, bytes, bytes};
  t.makespan = t.work = stream.alone.before + t.whole.seconds(v.rate);
  t.by_kernel = t.whole.least > t.whole.bytes / v.rate;
}

void split_whole(const ChannelView&, const Stream& stream, ChannelTime& t) {
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
