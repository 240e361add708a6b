#include "channel_time.hpp"

#include <algorithm>
#include <limits>

#include "fabricast/collective/algorithm.hpp"
#include "timing.hpp"

namespace fabricast {

namespace {

Stream stream_of(const ChannelView& v) {
  return find_by_algorithm(v.plan.algorithm)->stream(v.comm, v.plan, v.channel);
}

void time_slices(const ChannelView& v, const Stream& stream, const Timing& timing, ChannelTime& t) {
  const Services services(v, timing.looks);
  t.makespan = timing.makespan(services, stream, 1);
  const bool network = v.comm.nodes() > 1;
  const auto pace = [&](std::int64_t slices, std::int64_t slice) {
    const auto bytes = static_cast<double>(slice);
    const double gpu = services.slowest_gpu(bytes), gap = network ? services.network_gap(bytes) : 0;
    const double count = static_cast<double>(stream.sends * slices);
    t.by_proxy |= network && gap > gpu && v.costs.proxy_round(bytes) >= gap;
    t.work += count * std::max(gpu, gap);
    if (!network || !v.by_network) return Pace{count, std::max(gpu, gap), 0, bytes};
    return Pace{count, std::max(gpu, v.costs.proxy_round(bytes)), bytes, bytes};
  };
  if (network)
    t.bytes = static_cast<double>(stream.sends) *
              (static_cast<double>(stream.loops * stream.slices) * static_cast<double>(stream.slice) +
               static_cast<double>(stream.tail_slices * stream.tail_slice));
  if (timing.skew) t.work += timing.skew(services, stream);
  if (stream.loops > 0) t.whole = pace(stream.loops * stream.slices, stream.slice);
  if (stream.tail_slices > 0) t.tail = pace(stream.tail_slices, stream.tail_slice);
}

void split_slices(const ChannelView& v, const Stream& stream, const Timing& timing, ChannelTime& t) {
  const std::int64_t payload = stream.loops * stream.slices * stream.slice + stream.tail_slices * stream.tail_slice;
  t.latency = std::min(t.makespan, timing.makespan(Services(v, timing.looks), stream, 0));
  t.transfer = std::min(t.makespan, static_cast<double>(stream.sends * payload) / v.rate);
  split_overlapping(t);
}

}  // namespace

ChannelTime time_channel(const ChannelView& v) {
  ChannelTime t;
  t.rate = v.rate;
  if (v.rate <= 0) {
    t.makespan = std::numeric_limits<double>::infinity();
    return t;
  }
  const Stream stream = stream_of(v);
  const Timing& timing = find_timing(stream.timing);
  timing.time_whole ? timing.time_whole(v, stream, t) : time_slices(v, stream, timing, t);
  return t;
}

void split_time(const ChannelView& v, ChannelTime& t) {
  if (v.rate <= 0) return;
  const Stream stream = stream_of(v);
  const Timing& timing = find_timing(stream.timing);
  timing.split_whole ? timing.split_whole(v, stream, t) : split_slices(v, stream, timing, t);
}

}  // namespace fabricast
