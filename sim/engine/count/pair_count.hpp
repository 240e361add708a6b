// How many connections cross each link if every node sends the same to every other, without enumerating them.
//
// Let P be the connections of a pair of nodes, from NIC k to NIC m, and on_l(k) the nodes whose NIC k is connected to
// leaf l. The connections that leave l for other leaves of its group g, and for other groups, are
//
//   near(l) = sum over P, nodes i in on_l(k) of  |on_g(m)| - |on_l(m)| - [i's own m in g, but not on l]
//   far(l)  = sum over P, nodes i in on_l(k) of  N - |on_g(m)| - [i's own m not in g]                              (1)
//
// and correspondingly for those that enter it. The router splits them over its links: exactly if it spreads packets, by
// a multinomial sample if it hashes. The cost grows with N and the number of links, not with N^2.
//
// Not modelled: the correlation between the links that a connection takes up and those that it takes down.
#pragma once

#include <optional>
#include <vector>

#include "fabric_count.hpp"

namespace fabricast {

struct PairCount {
  std::vector<std::uint64_t> counts;      ///< by resource: queue pairs times weights of edges
  std::vector<FabricCount::Trips> trips;  ///< by distance of the ends: same leaf, same group, other group
  bool weighted = false;                  ///< counts are in `weight_unit` (crossings.hpp)
};

/// Up to this number, flows are hashed one by one: this is exact, and as fast.
inline constexpr std::uint64_t most_hashed_flows = std::uint64_t{1} << 22;

/// None if the algorithm's nodes are not alike, if each flow has to be routed separately, if few flows are hashed, or
/// if a flow has no path.
std::optional<PairCount> count_pairs(const FabricCount::Input& input, std::uint64_t most_hashed = most_hashed_flows);

}  // namespace fabricast
