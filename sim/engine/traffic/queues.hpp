// Queues that the traffic of others keeps in front of links, and what packets of a call wait in them. Items of the call's
// traffic class load a link of rate C with rho on average, and with rho / duty while they send:
//
//   wait = rho W                            if they fill the link while they send                                     (1)
//          rho / (2 (1 - rho)) packet / C   otherwise: fixed packets at random times [Bertsekas1992]
//          0                                if all of them come from one port (n = 1)
//
//   W = the queue that reacting senders aim at, whatever n is (StandingQueue::time)
//       min( n B / (1 + n), slots x connections ) / C   where only pauses stop them, for a switch with memory B
//
// Runs of packets show both (docs/validation-packets.md). Flows of one port cannot fill more than they bring, so no queue
// stands in front of a link that one port fills. NICs serve their connections in turn: nobody waits in front of the link
// of a NIC to its switch.
//
// The mean over the connections of a channel is added to each of its paths (NetworkSegment::queue). A ring crosses all
// its paths one after the other, so their sum counts, which is what the mean says. Others end with their slowest path:
// they wait once more for what the worst link takes beyond the mean.
//
// Not modelled: the call's own packets in these queues, queues of collectives of the same job, and of other classes,
// which delay by a packet; with pauses, queues on the way to a full link, which fill up as well.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "fabricast/collective/communicator.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/traffic/beside.hpp"

namespace fabricast {

/// The rate of a resource, and the number of links that it stands for.
struct ResourceRate {
  double rate = 0;  ///< B/s
  std::uint32_t links = 1;
};
using RateOf = std::function<ResourceRate(std::uint32_t)>;
/// Of the router's resources in the first segment. The arguments must outlive the result.
RateOf rates_of(const NetworkSetup& setup, const Router& router);

/// What packets wait on a path.
struct PathWait {
  Seconds mean;   ///< of the channel that waits longest, over its connections
  Seconds worst;  ///< in front of one link
  bool any() const { return worst.value > 0; }
};
/// The larger of both values.
PathWait longer(const PathWait& a, const PathWait& b);

/// By group of items: what its packets wait in the queues of others.
/// \param uses   of own items, sorted by resource
/// \param group  by own item, from 0
std::vector<PathWait> waits_behind(const Background& others, std::span<const Background::Use> uses,
                                   const std::vector<std::uint32_t>& group, const MeetingRule& rule,
                                   const RateOf& rate_of);

/// Times a plan whose packets wait.
/// \pre wait.any()
GroupTime time_waiting(NetworkSetup setup, const Plan& plan, std::uint64_t seed, const Router& router,
                       const PathWait& wait);

}  // namespace fabricast
