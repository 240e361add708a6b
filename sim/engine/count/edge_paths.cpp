// (1) of edge_paths.hpp, by routing every queue pair. The lists grow with queue pairs times hops, so larger plans have
// none. There all connections of a channel count at all times (docs/models/flow-engine.md).
#include "edge_paths.hpp"

#include <unordered_map>

#include "crossings.hpp"
#include "row_numbers.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_pairs = 4096;

class Collector {
 public:
  explicit Collector(const FabricCount::Input& input)
      : in_(input), pairs_(static_cast<std::uint32_t>(input.comm.qps_per_connection)) {}

  std::shared_ptr<const EdgePaths> operator()() {
    // Connecting all nodes takes at least nodes - 1 connections. This bound avoids listing a tree of thousands of nodes
    // only to find that there are too many.
    const auto least = static_cast<std::size_t>(in_.comm.nodes() - 1) * static_cast<std::size_t>(in_.plan.channels);
    if (least * pairs_ > most_pairs) return nullptr;
    for (int c = 0; c < in_.plan.channels && found_ <= most_pairs; ++c) add(c);
    if (found_ > most_pairs) return nullptr;
    return std::make_shared<const EdgePaths>(std::move(out_));
  }

 private:
  void add(int channel) {
    std::vector<EdgePaths::Edge>& edges = out_.edges.emplace_back();
    const std::uint32_t ports = in_.fabric.ports_per_node();
    find_by_algorithm(in_.plan.algorithm)->network_edges(in_.comm, in_.plan, channel, [&](const NetworkEdge& e) {
      // The listing cannot be stopped, so the rest is skipped.
      if ((found_ += pairs_) > most_pairs) return;
      const auto of = static_cast<std::uint32_t>(channel), number = static_cast<std::uint32_t>(edges.size());
      EdgePaths::Edge& edge = edges.emplace_back();
      edge.from = in_.comm.endpoint(e.from, e.from_nic, ports);
      edge.to = in_.comm.endpoint(e.to, e.to_nic, ports);
      for (std::uint32_t q = 0; q < pairs_; ++q) {
        // Added even if it has no path, so that queue pairs are found by their numbers.
        EdgePaths::Pair& pair = edge.pairs.emplace_back();
        if (!in_.router.route(flow_between(in_.comm, edge.from, edge.to, e.channel_or(of), number % 2, q), path_))
          continue;
        // Equal paths get equal numbers, because a NIC sends messages on the same path one after the other.
        pair.path = paths_.emplace(path_.resources, static_cast<std::uint32_t>(paths_.size())).first->second;
        cross(of, number, edge.from, pair);
      }
    });
  }

  void cross(std::uint32_t channel, std::uint32_t number, std::uint32_t from, EdgePaths::Pair& pair) {
    for (std::size_t i = 0; i < path_.resources.size(); ++i) {
      const std::uint32_t r = path_.resources[i];
      const auto [it, fresh] = link_of_.emplace(r, static_cast<std::uint32_t>(out_.links.size()));
      if (fresh) out_.links.push_back({r, i == 0 || i + 1 == path_.resources.size(), {}});
      pair.hops.push_back({it->second, path_.weight(i)});
      out_.links[it->second].crossings.push_back({channel, number, pair.path, from, path_.weight(i) / pairs_});
    }
  }

  const FabricCount::Input& in_;
  std::uint32_t pairs_;
  std::size_t found_ = 0;
  EdgePaths out_;
  Path path_;
  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& resources) const {
      std::uint64_t hash = 0;
      for (const std::uint32_t r : resources) hash = hash_on(hash, r);
      return static_cast<std::size_t>(hash_end(hash));
    }
  };
  std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, Hash> paths_;
  // A map, not an array: such a plan crosses few links, however large the fabric is.
  std::unordered_map<std::uint32_t, std::uint32_t> link_of_;
};

}  // namespace

std::shared_ptr<const EdgePaths> edge_paths(const FabricCount::Input& input) {
  if (!find_by_algorithm(input.plan.algorithm)->network_edges) return nullptr;
  return Collector(input)();
}

}  // namespace fabricast
