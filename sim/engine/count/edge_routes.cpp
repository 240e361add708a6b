// (1) of edge_routes.hpp. Connections below a leaf have the same routes for all seeds, so those of an edge set are
// found once, without the router. The others are routed for each seed, and their routes follow in the list. Without
// edge sets all connections are routed.
#include "edge_routes.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// Collects routes. Connections with the same route share an entry unless the table has forgotten it. A duplicate entry
/// costs memory and changes nothing else.
class Finder {
 public:
  Finder(const FabricCount& count, const FabricCount::Input& input, EdgeRoutes& out)
      : count_(count), in_(input), out_(out) {
    // A table that forgets, instead of a map that grows with the routes. A few nodes have few routes.
    const auto nodes = static_cast<std::size_t>(input.comm.nodes());
    recent_.resize(std::min(std::size_t{1} << 14, std::bit_ceil(16 * nodes)));
  }

  std::uint32_t direct(std::uint32_t from, std::uint32_t to, const Flow& first) {
    // The links of a port have the numbers 2p and 2p + 1 (Router::ends_at_ports).
    own_ = {count_.group_of(2 * from), count_.group_of(2 * to + 1)};
    latency_ = 0;
    return find_or_add(first);
  }
  std::uint32_t routed(const Flow& first) {
    own_.clear();
    latency_ = 0;
    route(first);
    return find_or_add(first);
  }

 private:
  std::uint32_t find_or_add(const Flow& first) {
    std::uint64_t key = 0;
    // The key only selects an entry, which is then compared with the whole route.
    for (const std::uint32_t g : own_) key = (key ^ g) * 0x9e3779b97f4a7c15ULL + (key >> 29);
    Recent& recent = recent_[mix64(key) % recent_.size()];
    if (recent.route == no_group || recent.key != key || !is(out_.routes[recent.route])) {
      recent = {key, static_cast<std::uint32_t>(out_.routes.size())};
      const auto begin = static_cast<std::uint32_t>(out_.groups.size());
      // One list for all routes, because hashed paths may give every connection a route of its own.
      out_.groups.insert(out_.groups.end(), own_.begin(), own_.end());
      out_.routes.push_back({first, latency_, begin, static_cast<std::uint32_t>(out_.groups.size())});
    }
    return recent.route;
  }
  void route(Flow flow) {
    for (int q = 0; q < in_.comm.qps_per_connection; ++q, ++flow.from_qp, ++flow.to_qp) {
      if (!in_.router.route(flow, path_)) continue;  // its channel is blocked
      const std::vector<std::uint32_t>& r = path_.resources;
      for (std::size_t i = 0; i < r.size(); ++i)
        own_.push_back(count_.group_of(r[i]) | (i == 0 || i + 1 == r.size() ? 0 : EdgeRoutes::between));
      latency_ = std::max(latency_, path_.latency.value);
    }
  }
  bool is(const EdgeRoutes::Route& route) const {
    const auto groups = out_.groups_of(route);
    // Latencies are compared as well: with faults, links of one group have the same rate, but may differ in latency.
    return route.latency == latency_ && std::equal(own_.begin(), own_.end(), groups.begin(), groups.end());
  }

  const FabricCount& count_;
  const FabricCount::Input& in_;
  EdgeRoutes& out_;
  struct Recent {
    std::uint64_t key = 0;
    std::uint32_t route = no_group;
  };
  std::vector<Recent> recent_;  ///< by hash of the key
  std::vector<std::uint32_t> own_;
  double latency_ = 0;
  Path path_;
};

/// Calls use(number, from, to, channel of its queue pair) for every connection of a channel, with its endpoints.
template <class Use>
void for_each_edge(const FabricCount::Input& in, std::uint32_t channel, Use use) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(in.plan.algorithm);
  const std::uint32_t ports = in.fabric.ports_per_node();
  std::uint32_t e = 0;
  algorithm.network_edges(in.comm, in.plan, static_cast<int>(channel), [&](const NetworkEdge& edge) {
    use(e++, in.comm.endpoint(edge.from, edge.from_nic, ports), in.comm.endpoint(edge.to, edge.to_nic, ports),
        edge.channel_or(channel));
  });
}

std::shared_ptr<const DirectPaths> direct_paths(const FabricCount& count, const FabricCount::Input& in,
                                                std::uint32_t channel) {
  auto found = std::make_shared<DirectPaths>();
  Finder finder(count, in, found->routes);
  for_each_edge(in, channel, [&](std::uint32_t e, std::uint32_t from, std::uint32_t to, std::uint32_t) {
    std::uint32_t route = no_group;
    if (in.router.direct(from, to))
      route = finder.direct(from, to, flow_between(in.comm, from, to, channel, e % 2, 0));
    else
      // Kept with their endpoints, so that no seed enumerates all connections again.
      found->others.push_back({e, from, to});
    found->routes.route.push_back(route);
  });
  return found;
}

}  // namespace

std::shared_ptr<const EdgeRoutes> edge_routes(const FabricCount& count, const FabricCount::Input& input,
                                              std::uint32_t channel) {
  const auto flow = [&](std::uint32_t e, std::uint32_t from, std::uint32_t to) {
    return flow_between(input.comm, from, to, channel, e % 2, 0);
  };
  if (count.sets()) {
    const auto direct = count.sets()->direct_paths(channel, [&] { return direct_paths(count, input, channel); });
    // A copy, to which the routes of this seed are added.
    auto routes = std::make_shared<EdgeRoutes>(direct->routes);
    Finder finder(count, input, *routes);
    for (const auto& [e, from, to] : direct->others) routes->route[e] = finder.routed(flow(e, from, to));
    return routes;
  }
  auto routes = std::make_shared<EdgeRoutes>();
  // If switches reduce along trees, there are no connections.
  if (!find_by_algorithm(input.plan.algorithm)->network_edges) return routes;
  Finder finder(count, input, *routes);
  for_each_edge(input, channel, [&](std::uint32_t e, std::uint32_t from, std::uint32_t to, std::uint32_t of) {
    routes->route.push_back(finder.routed(flow_between(input.comm, from, to, of, e % 2, 0)));
  });
  return routes;
}

}  // namespace fabricast
