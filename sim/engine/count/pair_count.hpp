// How many connections cross each link where every node sends to every other alike, without looking at each.
//
// With P the connections of a pair of nodes, from NIC k to NIC m, and on_l(k) the nodes whose NIC k hangs off leaf l,
// what leaves l for other leaves of its group g, and for other groups, is
//
//   near(l) = sum over P, nodes i in on_l(k) of  |on_g(m)| - |on_l(m)| - [i's own m in g, but not on l]
//   far(l)  = sum over P, nodes i in on_l(k) of  N - |on_g(m)| - [i's own m not in g]                              (1)
//
// and the same the other way round for what enters it. The router parts these over its links: exactly where it spreads
// packets, by a multinomial sample where it hashes. The cost grows with N and the links, not with N^2.
//
// Not modelled: that the links which a connection takes on its way up and down belong together.
#pragma once

#include <optional>
#include <vector>

#include "fabric_count.hpp"

namespace fabricast {

struct PairCount {
  std::vector<std::uint64_t> counts;      ///< by resource, in weights of edges and queue pairs
  std::vector<FabricCount::Trips> trips;  ///< by how far apart the ends are
};

/// Flows that are hashed one by one, at most: that is exact, and as fast.
inline constexpr std::uint64_t most_hashed_flows = std::uint64_t{1} << 22;

/// None where the algorithm's nodes do not do alike, where each flow has to be routed by itself, or where there are so few
/// that are hashed.
std::optional<PairCount> count_pairs(const FabricCount::Input& input, std::uint64_t most_hashed = most_hashed_flows);

}  // namespace fabricast
