// Time of sends and receives, all pairs together:
//
//   T = max over ranks r that stand for the others of  T_r,         T_r by peer_transfers.hpp                        (1)
//
// In an all-to-all any rank stands for all. In a scatter or gather it is the root, in a ring of sends the first or the
// last GPU of a node.
#pragma once

#include "services.hpp"

namespace fabricast {

struct PeerTime {
  double makespan = 0;  ///< s
  double proxy = 0;     ///< s that its busiest proxy thread works
};

/// Of the rank that takes longest. \param scale  of bytes
PeerTime peer_time(const ChannelView& view, double scale);

/// s; the same with one empty chunk for each pair: what no link can make longer.
double peer_latency(const ChannelView& view);

}  // namespace fabricast
