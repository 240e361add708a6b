// The time of sends and receives, all pairs together:
//
//   T = max over ranks r that stand for the others of  T_r,         T_r by peer_transfers.hpp                       (1)
//
// In an all-to-all any rank stands for all. In a scatter or gather it is the root, in a sendrecv the first or the last
// GPU of a node.
#pragma once

#include "services.hpp"

namespace fabricast {

struct PeerTime {
  double makespan = 0;  ///< s
  double proxy = 0;     ///< s; work of its busiest proxy thread
};

/// The time of the slowest rank. \param scale  factor of all bytes
PeerTime peer_time(const ChannelView& view, double scale);

/// s; the same with one empty chunk for each pair, which no link can delay.
double peer_latency(const ChannelView& view);

}  // namespace fabricast
