// How many connections cross each link if every node sends the same to every other, in fabrics that are not Clos
// networks, without enumerating them.
//
// Let P be the connections of a pair of nodes, from NIC k to NIC m, and on_s(k) the number of nodes whose NIC k is
// connected to switch s. The connections from switch s to switch d are
//
//   n(s, d) = sum over P of  on_s(k) on_d(m) - | nodes whose k is on s and whose m is on d |                        (1)
//
// The router parts them over the links between: in fractions if it spreads packets, by a sample if it hashes. The cost
// grows with pairs of switches and not with pairs of nodes. Links between switches may be down. Where a port is, or a
// flow has no path, flows are counted one by one, so that the first of them is named.
//
// Not modelled: the correlation between the two halves of a detour (valiant), and its latency: that of one flow stands
// for all pairs of switches at one distance.
#pragma once

#include "pair_count.hpp"

namespace fabricast {

/// As count_pairs (pair_count.hpp), and none for Clos networks. \pre the algorithm's edges of a pair are not empty
std::optional<PairCount> count_switch_pairs(const FabricCount::Input& input, const std::vector<NetworkEdge>& edges,
                                            std::uint64_t most_hashed);

}  // namespace fabricast
