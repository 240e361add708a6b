// Sends and receives between pairs of ranks: one stream stands for all channels.
//
//   T = max( exchange (peer_time.hpp), n b / r ),   the second where a link binds                                   (1)
//
// n messages of b bytes at the share r, in B/s. They share GPU, links and proxy threads across channels, so channels
// can not be timed by themselves.
#include <algorithm>

#include "peer_time.hpp"
#include "timing.hpp"

namespace fabricast {

namespace {

void time_whole(const ChannelView& v, const Stream& stream, ChannelTime& t) {
  const PeerTime peers = peer_time(v, 1);
  const double links = static_cast<double>(stream.sends * v.plan.pair) / v.rate;
  // The slope of an exchange that is followed in part is a little off: never quicker than the link that holds it.
  t.makespan = t.work = v.by_network ? std::max(peers.makespan, links) : peers.makespan;
  // A thread that is seldom idle holds the exchange back, unless a link has more to do.
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
