// (1) to (3) of edge_contention.hpp over all links of a connection's path, and the same for a message that meets no
// other:
//
//   slowest(e) = max over links l of e of  part(e, l) w / C_l          s per byte                                   (4)
//
// A message uses one of the connection's Q queue pairs, each of which has its own path. So a link carries only a
// fraction of the messages.
#include "edge_contention.hpp"

#include <algorithm>

#include "../count/network_counter.hpp"

namespace fabricast {

namespace {

/// Fraction of the time of one connection in which another one is busy as well.
double part_of(const EdgeTime& own, const EdgeTime& other) {
  const double from = std::max(own.first, other.first);
  const double until = std::min(own.first + own.duration, other.first + other.duration);
  return std::max(0.0, until - from) / own.duration;
}

}  // namespace

EdgeContention edge_contention(const ChannelView& v, std::uint32_t channel, std::size_t e, const EdgeTimes& times) {
  NetworkCounter& network = *v.loads.network;
  const EdgePaths& paths = *network.edge_paths();
  const std::vector<double>& rates = network.edge_rates();
  const EdgePaths::Edge& edge = paths.edges[channel][e];
  const EdgeTime& now = times[channel][e];
  const double share = 1.0 / static_cast<double>(edge.pairs.end - edge.pairs.begin);
  // A message uses one queue pair of its connection, unless it is split over all of them.
  const double whole = v.comm.split_data_on_qps ? share : 1;
  EdgeContention contention;
  for (const EdgePaths::Pair& pair : paths.of(edge))
    for (const EdgePaths::Hop& hop : paths.of(pair)) {
      const EdgePaths::Link& link = paths.links[hop.link];
      double all = 0, own = 0;
      for (const EdgePaths::Crossing& c : paths.of(link)) {
        const double meets = c.part * v.use[c.channel] * part_of(now, times[c.channel][c.edge]);
        all += meets;
        // Messages of this NIC on the same path wait for each other at the NIC, not on the link. Those on another path
        // do so half of the time.
        if (c.from == edge.from) own += c.path == pair.path ? meets : meets / 2;
      }
      // In the bound engine no message meets another.
      if (v.loads.alone) all = own = share * hop.part;
      const double byte = v.costs.wire / rates[hop.link], part = share * hop.part;
      // The message beyond the share of its queue pair.
      const double rest = (whole - share) * hop.part * byte;
      // Messages of this NIC go one by one, so only those of other NICs slow them.
      const double alone = byte * part * std::max(1.0, all / std::max(own, part)) + rest;
      contention.alone = std::max(contention.alone, alone);
      contention.round = std::max(contention.round, byte * all);
      // The port is a separate station (services.hpp), so it does not count between the switches.
      if (link.port) continue;
      contention.alone_between = std::max(contention.alone_between, alone);
      contention.round_between = std::max(contention.round_between, byte * all);
    }
  return contention;
}

double slowest_link(const ChannelView& v, std::uint32_t channel, std::size_t edge) {
  return v.loads.network->slowest_link(channel, edge) * v.costs.wire;
}

}  // namespace fabricast
