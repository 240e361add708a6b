// Sends and receives between pairs of ranks: one stream stands for all channels.
//
//   T = max( makespan of peer_time.hpp, n b / r ),   the second only if a link binds                                (1)
//
// There are n messages of b bytes at the share r, in B/s. Messages share GPU, links and proxy threads across channels,
// so channels cannot be timed separately.
#include <algorithm>

#include "peer_time.hpp"
#include "timing.hpp"

namespace fabricast {

namespace {

void time_whole(const ChannelView& v, const Stream& stream, ChannelTime& t) {
  const PeerTime peers = peer_time(v, 1);
  const double links = static_cast<double>(stream.sends * v.plan.pair) / v.rate;
  // If not all chunks are followed, the slope is slightly off. The result is never faster than the link that binds.
  t.makespan = t.work = v.by_network ? std::max(peers.makespan, links) : peers.makespan;
  // A proxy thread that is seldom idle is the bottleneck, unless a link has more work.
  t.by_proxy = peers.proxy > std::max(links, t.makespan / 2);
}

void split_whole(const ChannelView& v, const Stream& stream, ChannelTime& t) {
  t.latency = std::min(t.makespan, peer_time(v, 0).makespan);
  t.transfer = std::min(t.makespan, static_cast<double>(stream.sends * v.plan.pair) / v.rate);
  split_overlapping(t);
}

}  // namespace

Timing peers_timing() {
  return {.name = "peers",
          .summary = "sends and receives between pairs of ranks",
          .time_whole = time_whole,
          .split_whole = split_whole};
}

}  // namespace fabricast
