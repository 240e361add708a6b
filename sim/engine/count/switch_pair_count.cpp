// (1) of switch_pair_count.hpp.
//
// Numbers are integers by weight of messages, as in pair_count.cpp. Fractions of flows are summed as floating-point
// numbers in one order, and then rounded to `weight_unit`.
#include "switch_pair_count.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "crossings.hpp"

namespace fabricast {

namespace {

/// A matrix over pairs of switches is kept, so larger fabrics are counted one by one.
constexpr std::uint32_t most_switches = 4096;

class SwitchPairCounter {
 public:
  SwitchPairCounter(const FabricCount::Input& in, const std::vector<NetworkEdge>& edges)
      : in_(in), nodes_(static_cast<std::uint32_t>(in.comm.nodes())), switches_(in.fabric.switches()) {
    const auto pairs = static_cast<std::uint64_t>(in.comm.qps_per_connection);
    for (const NetworkEdge& edge : edges) messages_[{edge.from_nic, edge.to_nic}][edge.weight] += pairs;
    for (const auto& [nics, by_weight] : messages_)
      for (const auto& [weight, flows] : by_weight) flows_ += flows * nodes_ * (nodes_ - 1);
  }

  std::uint64_t flows() const { return flows_; }

  /// \returns false if a flow has no path
  bool count(PairCount& out) {
    out.weighted = in_.router.parting() == Router::Parting::evenly;
    std::map<std::uint32_t, std::vector<std::uint64_t>> by_weight;  // flows by destination, then by source
    std::vector<double> crossed(in_.fabric.links(), 0);
    for (const auto& [nics, messages] : messages_) {
      const std::vector<std::uint64_t> pairs = pairs_of(nics);
      for (const auto& [weight, flows] : messages) {
        std::vector<std::uint64_t>& sum = by_weight[weight];
        sum.resize(pairs.size());
        for (std::size_t i = 0; i < pairs.size(); ++i) sum[i] += flows * pairs[i];
        for (std::uint32_t node = 0; node < nodes_; ++node) {
          const double all = static_cast<double>(weight * flows * (nodes_ - 1));
          crossed[2 * endpoint(node, nics.first)] += all;
          crossed[2 * endpoint(node, nics.second) + 1] += all;
        }
      }
    }
    std::vector<std::uint64_t> all(std::size_t{switches_} * switches_, 0);
    for (const auto& [weight, flows] : by_weight)
      for (std::size_t i = 0; i < flows.size(); ++i) all[i] += flows[i];
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] > 0 && !add_trips(i, all[i])) return false;
    for (const auto& [weight, flows] : by_weight) {
      std::vector<SwitchFlows> list;
      for (std::size_t i = 0; i < flows.size(); ++i)
        if (const std::uint32_t from = source(i), to = target(i); flows[i] > 0 && from != to)
          list.push_back({from, to, flows[i]});
      const double each = weight;
      in_.router.part_pairs(list, weight, [&](std::uint32_t link, double part) { crossed[link] += each * part; });
    }
    for (const double c : crossed)
      out.counts.push_back(static_cast<std::uint64_t>(std::llround(out.weighted ? c / weight_unit : c)));
    for (auto& [distance, trips] : trips_) out.trips.push_back(trips);
    return true;
  }

 private:
  using Nics = std::pair<std::uint16_t, std::uint16_t>;

  std::uint32_t source(std::size_t pair) const { return static_cast<std::uint32_t>(pair % switches_); }
  std::uint32_t target(std::size_t pair) const { return static_cast<std::uint32_t>(pair / switches_); }
  std::uint32_t endpoint(std::uint32_t node, std::uint16_t nic) const {
    return in_.comm.endpoint(node, nic, in_.fabric.ports_per_node());
  }
  std::uint32_t switch_of(std::uint32_t node, std::uint16_t nic) const {
    // Ports come first among the links, so the link up of port e is 2e.
    return in_.fabric.link(LinkId(2 * endpoint(node, nic))).to.value - in_.fabric.endpoints();
  }

  /// (1) for one pair of NICs, by destination, then by source.
  std::vector<std::uint64_t> pairs_of(const Nics& nics) {
    std::vector<std::uint64_t> from(switches_, 0), to(switches_, 0);
    std::vector<std::uint64_t> pairs(std::size_t{switches_} * switches_, 0);
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      ++from[switch_of(node, nics.first)];
      ++to[switch_of(node, nics.second)];
    }
    for (std::uint32_t d = 0; d < switches_; ++d)
      for (std::uint32_t s = 0; to[d] > 0 && s < switches_; ++s)
        pairs[std::size_t{d} * switches_ + s] = from[s] * to[d];
    for (std::uint32_t node = 0; node < nodes_; ++node)
      --pairs[std::size_t{switch_of(node, nics.second)} * switches_ + switch_of(node, nics.first)];
    return pairs;
  }

  /// Pairs of switches at one distance have paths of one latency (fabric/metric.hpp), so a flow stands for all of them.
  bool add_trips(std::size_t pair, std::uint64_t flows) {
    const std::uint32_t distance = in_.fabric.metric()->distance(source(pair), target(pair));
    const auto [it, fresh] = trips_.try_emplace(distance);
    it->second.count += flows;
    if (!fresh) return true;
    return std::any_of(messages_.begin(), messages_.end(),
                       [&](const auto& m) { return find_trip(pair, m.first, it->second); });
  }
  bool find_trip(std::size_t pair, const Nics& nics, FabricCount::Trips& trips) const {
    for (std::uint32_t a = 0; a < nodes_; ++a) {
      if (switch_of(a, nics.first) != source(pair)) continue;
      for (std::uint32_t b = 0; b < nodes_; ++b) {
        if (b == a || switch_of(b, nics.second) != target(pair)) continue;
        trips.first = flow_between(in_.comm, endpoint(a, nics.first), endpoint(b, nics.second), 0, 0, 0);
        Path path;
        if (!in_.router.route(trips.first, path)) return false;
        trips.latency = path.latency.value;
        return true;
      }
    }
    return false;
  }

  const FabricCount::Input& in_;
  std::uint32_t nodes_, switches_;
  std::uint64_t flows_ = 0;
  std::map<Nics, std::map<std::uint32_t, std::uint64_t>> messages_;  ///< by weight: queue pairs
  std::map<std::uint32_t, FabricCount::Trips> trips_;                ///< by distance
};

}  // namespace

std::optional<PairCount> count_switch_pairs(const FabricCount::Input& in, const std::vector<NetworkEdge>& edges,
                                            std::uint64_t most_hashed) {
  if (!in.fabric.metric() || in.fabric.switches() > most_switches) return {};
  SwitchPairCounter counter(in, edges);
  if (in.router.parting() == Router::Parting::at_random && counter.flows() <= most_hashed) return {};
  PairCount found;
  if (!counter.count(found)) return {};
  return found;
}

}  // namespace fabricast
