// Shares of links under lossless flow control with one queue (PFC): a prototype that the page on packets compares, not
// part of the engine.
//
// A switch pauses an ingress port that holds too much. Where an egress is congested, all its ingress ports end up
// holding equally much, so they get equal shares of it, whatever their number of flows. What is left of a port is
// shared by the ports one switch back, and so on to the hosts, whose flows share equally:
//
//     w_l(f) = w_k(f) / (sum of w_k over the flows that come to l by k) / (number of links k that flows come by)      (1)
//
// A paused port holds back all its flows. Its queue is first in, first out, so a flow f that waits further on slows the
// others on link k in proportion:
//
//     x_g <= x_f w_k(g) / w_k(f)      for every flow g on a link k that f crosses before the link where it waits    (2)
//
// Rates satisfy (1) as weighted max-min shares with weights of their own on each link, and (2) by repetition: on small
// networks, as here, without a claim that it always converges.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast::test {

/// Rates of flows, in the unit of `capacity`. \param ways  by flow: its links, in order
std::vector<double> port_shares(const std::vector<std::vector<std::uint32_t>>& ways,
                                const std::vector<double>& capacity);

}  // namespace fabricast::test
