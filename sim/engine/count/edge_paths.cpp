// (1) of edge_paths.hpp, by routing every queue pair. The lists grow with queue pairs times hops, so larger plans have
// none. There all connections of a channel count at all times (docs/models/flow-engine.md).
#include "edge_paths.hpp"

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
    sort_by_link();
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
      edge.pairs.begin = static_cast<std::uint32_t>(out_.pairs.size());
      edge.pairs.end = edge.pairs.begin + pairs_;
      edge.from = in_.comm.endpoint(e.from, e.from_nic, ports);
      edge.to = in_.comm.endpoint(e.to, e.to_nic, ports);
      for (std::uint32_t q = 0; q < pairs_; ++q) {
        // Added even if it has no path, so that queue pairs are found by their numbers.
        EdgePaths::Pair& pair = out_.pairs.emplace_back();
        if (!in_.router.route(flow_between(in_.comm, edge.from, edge.to, e.channel_or(of), number % 2, q), path_))
          continue;
        // Equal paths get equal numbers, because a NIC sends messages on the same path one after the other.
        pair.path = number_of_path();
        cross(of, number, edge.from, pair);
      }
    });
  }

  /// The number of the path so far and the next link together have one number, from the first link to the last.
  std::uint32_t number_of_path() {
    std::uint64_t number = 0xffffffff;
    for (const std::uint32_t r : path_.resources) number = numbered(paths_, number << 32 | r).first;
    return static_cast<std::uint32_t>(number);
  }

  void cross(std::uint32_t channel, std::uint32_t number, std::uint32_t from, EdgePaths::Pair& pair) {
    pair.hops.begin = static_cast<std::uint32_t>(out_.hops.size());
    for (std::size_t i = 0; i < path_.resources.size(); ++i) {
      const std::uint32_t r = path_.resources[i];
      const auto [link, fresh] = numbered(link_of_, r);
      if (fresh) out_.links.push_back({r, i == 0 || i + 1 == path_.resources.size(), {}});
      out_.hops.push_back({link, path_.weight(i)});
      crossings_.push_back({channel, number, pair.path, from, path_.weight(i) / pairs_});
    }
    pair.hops.end = static_cast<std::uint32_t>(out_.hops.size());
  }

  /// Crossings were found connection by connection, one for each hop.
  void sort_by_link() {
    for (const EdgePaths::Hop& hop : out_.hops) ++out_.links[hop.link].crossings.end;
    std::uint32_t begin = 0;
    for (EdgePaths::Link& link : out_.links) {
      const std::uint32_t count = link.crossings.end;
      link.crossings = {begin, begin};
      begin += count;
    }
    out_.crossings.resize(crossings_.size());
    for (std::size_t h = 0; h < crossings_.size(); ++h)
      out_.crossings[out_.links[out_.hops[h].link].crossings.end++] = crossings_[h];
  }

  using Numbers = RowNumbers<std::uint64_t>;
  static std::pair<std::uint32_t, bool> numbered(Numbers& numbers, std::uint64_t key) {
    return numbers.find_or_add(std::span<const std::uint64_t>(&key, 1));
  }

  const FabricCount::Input& in_;
  std::uint32_t pairs_;
  std::size_t found_ = 0;
  EdgePaths out_;
  Path path_;
  std::vector<EdgePaths::Crossing> crossings_;  ///< by hop
  Numbers paths_{1};
  Numbers link_of_{1};  ///< no array, because such a plan crosses few links, however large the fabric is
};

}  // namespace

std::shared_ptr<const EdgePaths> edge_paths(const FabricCount::Input& input) {
  if (!find_by_algorithm(input.plan.algorithm)->network_edges) return nullptr;
  return Collector(input)();
}

}  // namespace fabricast
