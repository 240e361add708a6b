// How long a message is held up by those that are on their way at the same time.
//
// Links are shared by what crosses them now, not by all that ever does. In a pipeline over many hops the messages of one
// hop go at one time and those of other hops at others, unless there are so many slices that all hops are busy. With t_e
// the time at which the first slice crosses connection e, and D_e how long its slices take there, a message of e meets
//
//   n_l(e) = sum over connections f on link l:  | [t_e, t_e + D_e] and [t_f, t_f + D_f] | / D_e                     (1)
//
// messages on l. A NIC sends those that take one path one after the other; those that part ways share it for half of
// the time, on average. With own_l of its messages on l,
//
//   alone = max_l  w / C_l  n_l / own_l       s per byte of a message, in the company of other NICs' messages       (2)
//   round = max_l  w / C_l  n_l               s per byte of all of that moment, this NIC's own among them           (3)
//
// where w is bytes on the wire for each of payload, C_l the link's rate.
#pragma once

#include <vector>

#include "services.hpp"

namespace fabricast {

/// When a connection carries its slices, s.
struct EdgeTime {
  double first = 0, duration = 0;
};
using EdgeTimes = std::vector<std::vector<EdgeTime>>;  ///< by channel and connection

struct EdgeContention {
  double alone = 0, round = 0;                  ///< s per byte, on all links of the path
  double alone_between = 0, round_between = 0;  ///< the same without the ports
};

/// \pre the view's loads have edge paths
EdgeContention edge_contention(const ChannelView& view, std::uint32_t channel, std::size_t edge, const EdgeTimes& times);

/// s per byte of a message that meets no other.
double slowest_link(const ChannelView& view, std::uint32_t channel, std::size_t edge);

}  // namespace fabricast
