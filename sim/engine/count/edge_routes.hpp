// The routes of a channel's connections as lists of groups of links. They do not depend on the rates of the links.
//
//   route(e) = ( group of l : l on the path of q : q = 1..Q ),  in order                                            (1)
//
// With groups instead of links, most connections share a route with others. The most loaded group of a path, which the
// stations need, is then found once per route (network_counter.hpp).
#pragma once

#include <span>

#include "fabric_count.hpp"

namespace fabricast {

struct EdgeRoutes {
  /// The groups that the queue pairs of a connection cross, in order.
  struct Route {
    Flow first;          ///< its first queue pair, or that of another connection with the same route
    double latency = 0;  ///< s, on the hardware where it was found; 0 for direct routes
    std::uint32_t begin = 0, end = 0;
  };
  std::vector<std::uint32_t> route;  ///< by edge
  std::vector<Route> routes;
  std::vector<std::uint32_t> groups;  ///< groups of the count; those between ports have the bit `between`

  static constexpr std::uint32_t between = 0x80000000;
  std::span<const std::uint32_t> groups_of(const Route& w) const {
    return {groups.data() + w.begin, groups.data() + w.end};
  }
};

/// The routes of an edge set that are the same for all seeds: those of connections below a leaf.
struct DirectPaths {
  struct Edge {
    std::uint32_t number, from, to;  ///< number among the channel's connections; endpoints
  };
  EdgeRoutes routes;         ///< `route` is no_group for the others
  std::vector<Edge> others;  ///< connections that are routed for each seed
};

/// The routes of a channel's connections.
/// \pre the input is for the fabric that was counted, apart from the rates and latencies of its links
std::shared_ptr<const EdgeRoutes> edge_routes(const FabricCount& count, const FabricCount::Input& input,
                                              std::uint32_t channel);

}  // namespace fabricast
