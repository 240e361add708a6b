#include "edge_ways.hpp"

#include <algorithm>
#include <array>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// Notes one way after the other. Connections with the same way share it where it has not been forgotten: what is not
/// found is noted once more, which changes nothing but memory.
class Finder {
 public:
  Finder(const FabricCount& count, const FabricCount::Input& input, EdgeWays& out)
      : count_(count), in_(input), by_ports_(input.router.ends_at_ports()), out_(out) {
    recent_.resize(1 << 14);
  }

  void add(const Flow& first) {
    own_.clear(), latency_ = 0;
    std::uint64_t key = 0;
    if (by_ports_ && in_.router.direct(first.from, first.to))
      own_ = {count_.group_of(2 * first.from), count_.group_of(2 * first.to + 1)};
    else
      route(first);
    for (const std::uint32_t g : own_) key = (key ^ g) * 0x9e3779b97f4a7c15ULL + (key >> 29);
    Recent& recent = recent_[mix64(key) % recent_.size()];
    if (recent.way == no_group || recent.key != key || !is(out_.ways[recent.way])) {
      recent = {key, static_cast<std::uint32_t>(out_.ways.size())};
      const auto begin = static_cast<std::uint32_t>(out_.groups.size());
      out_.groups.insert(out_.groups.end(), own_.begin(), own_.end());
      out_.ways.push_back({first, latency_, begin, static_cast<std::uint32_t>(out_.groups.size())});
    }
    out_.way.push_back(recent.way);
  }

 private:
  void route(Flow flow) {
    for (int q = 0; q < in_.comm.qps_per_connection; ++q, ++flow.from_qp, ++flow.to_qp) {
      if (!in_.router.route(flow, path_)) continue;  // its channel is blocked
      const std::vector<std::uint32_t>& r = path_.resources;
      for (std::size_t i = 0; i < r.size(); ++i)
        own_.push_back(count_.group_of(r[i]) | (i == 0 || i + 1 == r.size() ? 0 : EdgeWays::between));
      latency_ = std::max(latency_, path_.latency.value);
    }
  }
  bool is(const EdgeWays::Way& way) const {
    const auto groups = out_.groups_of(way);
    return way.latency == latency_ && std::equal(own_.begin(), own_.end(), groups.begin(), groups.end());
  }

  const FabricCount& count_;
  const FabricCount::Input& in_;
  bool by_ports_;
  EdgeWays& out_;
  struct Recent {
    std::uint64_t key = 0;
    std::uint32_t way = no_group;
  };
  std::vector<Recent> recent_;  ///< by hash of the key
  std::vector<std::uint32_t> own_;
  double latency_ = 0;
  Path path_;
};

}  // namespace

std::shared_ptr<const EdgeWays> edge_ways(const FabricCount& count, const FabricCount::Input& input,
                                          std::uint32_t channel) {
  auto ways = std::make_shared<EdgeWays>();
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(input.plan.algorithm);
  if (!algorithm.network_edges) return ways;
  Finder finder(count, input, *ways);
  std::size_t e = 0;
  algorithm.network_edges(input.comm, input.plan, static_cast<int>(channel), [&](const NetworkEdge& edge) {
    finder.add(flow_of(input.comm, input.fabric, edge, static_cast<int>(channel), e++, 0));
  });
  return ways;
}

}  // namespace fabricast
