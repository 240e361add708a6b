// How long a message is delayed by messages that are in flight at the same time.
//
// A link is shared by what crosses it now, not by everything that crosses it during the call. In a pipeline over many
// hops, different hops send at different times, unless there are enough slices to keep all hops busy. With t_e the time
// at which the first slice crosses connection e, and D_e the time that its slices take there, a message of e meets
//
//   n_l(e) = sum over connections f on link l:  | [t_e, t_e + D_e] and [t_f, t_f + D_f] | / D_e                     (1)
//
// messages on l. A NIC sends its messages on the same path one after the other. Those on different paths share l half
// of the time on average. With own_l messages of this NIC on l,
//
//   alone = max_l  w / C_l  n_l / own_l       s per byte of one message, alongside those of other NICs              (2)
//   round = max_l  w / C_l  n_l               s per byte of all messages of that time, this NIC's included          (3)
//
// where w is bytes on the wire per byte of payload, and C_l is the rate of the link.
#pragma once

#include <vector>

#include "services.hpp"

namespace fabricast {

/// When a connection carries its slices, in s.
struct EdgeTime {
  double first = 0, duration = 0;
};
using EdgeTimes = std::vector<std::vector<EdgeTime>>;  ///< by channel and connection

struct EdgeContention {
  double alone = 0, round = 0;                  ///< s per byte, on all links of the path
  double alone_between = 0, round_between = 0;  ///< the same without the ports
};

/// The contention of one connection of a channel. \pre the view's loads have edge paths
EdgeContention edge_contention(const ChannelView& view, std::uint32_t channel, std::size_t edge,
                               const EdgeTimes& times);

/// s per byte of a message that meets no other (edge_contention.cpp).
double slowest_link(const ChannelView& view, std::uint32_t channel, std::size_t edge);

}  // namespace fabricast
