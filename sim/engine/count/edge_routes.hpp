// The ways of a channel's connections as lists of groups of links: found once, whatever the rates of the links are.
//
//   way(e) = ( group of l : l on the path of q : q = 1..Q ),  in order                                              (1)
//
// Groups, not links: most connections then have a way in common with others, and what stations ask of a path, its most
// crowded group, is found once for each way (network_counter.hpp).
#pragma once

#include <span>

#include "fabric_count.hpp"

namespace fabricast {

struct EdgeRoutes {
  /// The groups that the queue pairs of a connection cross, in order.
  struct Way {
    Flow first;          ///< its first queue pair, or that of another connection with the same way
    double latency = 0;  ///< s, where it was found; 0 of direct ways
    std::uint32_t begin = 0, end = 0;
  };
  std::vector<std::uint32_t> way;  ///< by edge
  std::vector<Way> ways;
  std::vector<std::uint32_t> groups;  ///< of the count; `between` is added to those between ports

  static constexpr std::uint32_t between = 0x80000000;
  std::span<const std::uint32_t> groups_of(const Way& w) const {
    return {groups.data() + w.begin, groups.data() + w.end};
  }
};

/// The ways of an edge set that no draw changes: those whose connections stay below a leaf.
struct DirectPaths {
  struct Edge {
    std::uint32_t number, from, to;  ///< among the channel's connections; endpoints
  };
  EdgeRoutes ways;  ///< no_group for the others
  std::vector<Edge> others;
};

/// \pre the input is of the fabric that was counted, up to the rates and latencies of its links
std::shared_ptr<const EdgeRoutes> edge_routes(const FabricCount& count, const FabricCount::Input& input,
                                          std::uint32_t channel);

}  // namespace fabricast
