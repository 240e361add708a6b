// (1) of edge_routes.hpp. Connections below a leaf have the same ways for all seeds, so those of an edge set are looked
// up once, without asking the router; the others are routed for each seed, and their ways come after them. Where there
// are no edge sets, all are routed.
#include "edge_routes.hpp"

#include <algorithm>
#include <array>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// Notes one way after the other. Connections with the same way share it where it has not been forgotten: what is not
/// found is noted once more, which changes nothing but memory.
class Finder {
 public:
  Finder(const FabricCount& count, const FabricCount::Input& input, EdgeRoutes& out)
      : count_(count), in_(input), out_(out) {
    // A table of fixed size that forgets, not a map of all ways that grows with them.
    recent_.resize(1 << 14);
  }

  std::uint32_t direct(std::uint32_t from, std::uint32_t to, const Flow& first) {
    // The links of a port have the numbers 2p and 2p + 1 (Router::ends_at_ports).
    own_ = {count_.group_of(2 * from), count_.group_of(2 * to + 1)}, latency_ = 0;
    return find_or_add(first);
  }
  std::uint32_t routed(const Flow& first) {
    own_.clear(), latency_ = 0;
    route(first);
    return find_or_add(first);
  }

 private:
  std::uint32_t find_or_add(const Flow& first) {
    std::uint64_t key = 0;
    // Only where to look: what is found is compared with all of the way.
    for (const std::uint32_t g : own_) key = (key ^ g) * 0x9e3779b97f4a7c15ULL + (key >> 29);
    Recent& recent = recent_[mix64(key) % recent_.size()];
    if (recent.way == no_group || recent.key != key || !is(out_.ways[recent.way])) {
      recent = {key, static_cast<std::uint32_t>(out_.ways.size())};
      const auto begin = static_cast<std::uint32_t>(out_.groups.size());
      // One list for all ways: where paths are hashed there may be a way for every connection.
      out_.groups.insert(out_.groups.end(), own_.begin(), own_.end());
      out_.ways.push_back({first, latency_, begin, static_cast<std::uint32_t>(out_.groups.size())});
    }
    return recent.way;
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
  bool is(const EdgeRoutes::Way& way) const {
    const auto groups = out_.groups_of(way);
    // Latency, too: where there are faults, links of one group have one rate, but may have several latencies.
    return way.latency == latency_ && std::equal(own_.begin(), own_.end(), groups.begin(), groups.end());
  }

  const FabricCount& count_;
  const FabricCount::Input& in_;
  EdgeRoutes& out_;
  struct Recent {
    std::uint64_t key = 0;
    std::uint32_t way = no_group;
  };
  std::vector<Recent> recent_;  ///< by hash of the key
  std::vector<std::uint32_t> own_;
  double latency_ = 0;
  Path path_;
};

/// Calls use(number, from, to, channel of its queue pair) for every connection of a channel, by its NIC ports.
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
  Finder finder(count, in, found->ways);
  for_each_edge(in, channel, [&](std::uint32_t e, std::uint32_t from, std::uint32_t to, std::uint32_t) {
    std::uint32_t way = no_group;
    if (in.router.direct(from, to))
      way = finder.direct(from, to, flow_between(in.comm, from, to, channel, e % 2, 0));
    else
      // With their ends, so that no seed goes through all connections again.
      found->others.push_back({e, from, to});
    found->ways.way.push_back(way);
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
    // A copy: those of this seed are added to it.
    auto ways = std::make_shared<EdgeRoutes>(direct->ways);
    Finder finder(count, input, *ways);
    for (const auto& [e, from, to] : direct->others) ways->way[e] = finder.routed(flow(e, from, to));
    return ways;
  }
  auto ways = std::make_shared<EdgeRoutes>();
  // Where switches reduce along trees, there are no connections.
  if (!find_by_algorithm(input.plan.algorithm)->network_edges) return ways;
  Finder finder(count, input, *ways);
  for_each_edge(input, channel, [&](std::uint32_t e, std::uint32_t from, std::uint32_t to, std::uint32_t of) {
    ways->way.push_back(finder.routed(flow_between(input.comm, from, to, of, e % 2, 0)));
  });
  return ways;
}

}  // namespace fabricast
