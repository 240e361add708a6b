// The makespan of a channel by the timing of its algorithm, and the other terms of (1) of channel_time.hpp. For the
// n slices of either size, in s,
//
//   g    = max( slowest GPU, slowest network stage ),   without the links if the share of them binds
//   work = sum of n max( slowest GPU, slowest network stage )  +  skew                                              (2)
//
// `work` is the minimum per call for calls issued back to back: while one drains, the next one fills.
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
    // On a single node, proxy threads and NICs have nothing to do.
    const double gpu = services.slowest_gpu(bytes), gap = network ? services.network_gap(bytes) : 0;
    const double count = static_cast<double>(stream.sends * slices);
    // The gap of the network is a maximum. It is that of the proxy thread if the thread reaches it.
    t.by_proxy |= network && gap > gpu && v.costs.proxy_round(bytes).value >= gap;
    t.work += count * std::max(gpu, gap);
    // If no link binds now, none will until the network changes, because shares only grow when channels end.
    if (!network || !v.by_network) return Pace{count, std::max(gpu, gap), 0, bytes};
    return Pace{count, std::max(gpu, v.costs.proxy_round(bytes).value), bytes, bytes};
  };
  // An event graph lets slices overlap. The bytes on a link that binds cannot overlap.
  if (network) t.bytes = payload_of(stream);
  if (timing.skew) t.work += timing.skew(services, stream);
  if (stream.loops > 0) t.whole = pace(stream.loops * stream.slices, stream.slice);
  if (stream.tail_slices > 0) t.tail = pace(stream.tail_slices, stream.tail_slice);
}

void split_slices(const ChannelView& v, const Stream& stream, const Timing& timing, ChannelTime& t) {
  // Empty slices leave what no faster link can shorten: hops, overheads and the handshakes of the protocol.
  t.latency = std::min(t.makespan, timing.makespan(Services(v, timing.looks), stream, 0));
  t.transfer = std::min(t.makespan, payload_of(stream) / v.rate);
  split_overlapping(t);
}

}  // namespace

double payload_of(const Stream& s) {
  return static_cast<double>(s.sends * (s.loops * s.slices * s.slice + s.tail_slices * s.tail_slice));
}

ChannelTime time_channel(const ChannelView& v) {
  ChannelTime t;
  t.rate = v.rate;
  if (v.rate <= 0) {
    // Its link is down. The link may come back, so the engine decides whether the collective ends.
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
