// (1) of switch_pair_count.hpp.
//
// Numbers are integers by weight of messages, as in pair_count.cpp. Fractions of flows are summed as floating-point
// numbers in one order, and then rounded to `weight_unit`.
#include "switch_pair_count.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "../../routing/router.hpp"
#include "crossings.hpp"
#include "fabricast/fabric/planes.hpp"
#include "node_pairs.hpp"

namespace fabricast {

namespace {

/// A list of pairs of switches is kept, so larger fabrics are counted one by one.
constexpr std::uint32_t most_switches = 4096;

class SwitchPairCounter {
 public:
  SwitchPairCounter(const FabricCount::Input& in, const std::vector<NetworkEdge>& edges)
      : in_(in), nodes_(static_cast<std::uint32_t>(in.comm.nodes())), switches_(in.fabric.switches()) {
    if (in.segment.links.any_down()) around_.emplace(in.fabric, in.segment.links);
    if (const auto* minimal = dynamic_cast<const MinimalRouter*>(&in.router))
      if (minimal->paths().latency_by_length()) alike_ = &minimal->paths();
    const auto pairs = static_cast<std::uint64_t>(in.comm.qps_per_connection);
    for (const NetworkEdge& edge : edges) messages_[{edge.from_nic, edge.to_nic}][edge.weight] += pairs;
    for (const auto& [nics, by_weight] : messages_) {
      note_nodes(nics.first);
      note_nodes(nics.second);
    }
    for (const auto& [nics, by_weight] : messages_)
      for (const auto& [weight, flows] : by_weight) flows_ += flows * nodes_ * (nodes_ - 1);
  }

  std::uint64_t flows() const { return flows_; }

  /// \returns false if a flow has no path
  bool count(PairCount& out) {
    if (around_ && !ports_are_up()) return false;
    out.weighted = in_.router.parting() == Router::Parting::evenly || planes_of(in_.fabric);
    std::vector<double> crossed(in_.fabric.links(), 0);
    std::vector<Ends> ends;
    std::map<std::uint32_t, std::vector<SwitchFlows>> by_weight;
    for (const auto& [nics, messages] : messages_) {
      ends.push_back({&messages, NodePairs(in_.comm, in_.fabric, nics)});
      for (const auto& [weight, flows] : messages) {
        by_weight.try_emplace(weight);
        for (std::uint32_t node = 0; node < nodes_; ++node) {
          const double all = static_cast<double>(weight * flows * (nodes_ - 1));
          add_ports(endpoint(node, nics.first), endpoint(node, nics.second), all, crossed);
        }
      }
    }
    // Row by row: matrices over all pairs of switches would take most of the time.
    std::vector<std::uint64_t> row(switches_), all(switches_);
    for (std::uint32_t to = 0; to < switches_; ++to) {
      std::fill(all.begin(), all.end(), 0);
      for (auto& [weight, list] : by_weight) {
        std::fill(row.begin(), row.end(), 0);
        for (const Ends& e : ends)
          if (const auto flows = e.messages->find(weight); flows != e.messages->end())
            e.pairs.add_row(to, flows->second, row);
        for (std::uint32_t from = 0; from < switches_; ++from) {
          if (row[from] == 0) continue;
          all[from] += row[from];
          if (from != to) list.push_back({from, to, row[from]});
        }
      }
      for (std::uint32_t from = 0; from < switches_; ++from)
        if (all[from] > 0 && !add_trips(std::size_t{to} * switches_ + from, all[from])) return false;
    }
    for (const auto& [weight, list] : by_weight) {
      const double each = weight;
      in_.router.part_pairs(list, weight, [&](std::uint32_t link, double part) { crossed[link] += each * part; });
    }
    for (const double c : crossed)
      out.counts.push_back(static_cast<std::uint64_t>(std::llround(out.weighted ? c / weight_unit : c)));
    for (auto& [key, trips] : trips_) out.trips.push_back(trips);
    return true;
  }

 private:
  std::uint32_t source(std::size_t pair) const { return static_cast<std::uint32_t>(pair % switches_); }
  std::uint32_t target(std::size_t pair) const { return static_cast<std::uint32_t>(pair / switches_); }
  std::uint32_t endpoint(std::uint32_t node, std::uint16_t nic) const {
    return in_.comm.endpoint(node, nic, in_.fabric.ports_per_node());
  }
  std::uint32_t switch_of(std::uint32_t node, std::uint16_t nic) const {
    return switch_of_port(in_.fabric, endpoint(node, nic));
  }

  /// Adds flows to the ports that they leave and reach; of several planes, in equal parts to the ports in each.
  void add_ports(std::uint32_t from, std::uint32_t to, double flows, std::vector<double>& crossed) const {
    const PlaneDistances* planes = planes_of(in_.fabric);
    const std::uint32_t count = planes ? planes->planes() : 1, apart = planes ? planes->nics() : 0;
    for (std::uint32_t p = 0; p < count; ++p) {
      crossed[std::size_t{2} * (from + p * apart)] += flows / count;
      crossed[2 * (to + p * apart) + 1] += flows / count;
    }
  }

  /// Whether every port that sends or receives can.
  bool ports_are_up() const {
    for (const auto& [nics, messages] : messages_)
      for (std::uint32_t node = 0; node < nodes_; ++node)
        if (in_.segment.links.down(2 * endpoint(node, nics.first)) ||
            in_.segment.links.down(2 * endpoint(node, nics.second) + 1))
          return false;
    return true;
  }

  /// What (1) needs for one pair of NICs.
  struct Ends {
    const std::map<std::uint32_t, std::uint64_t>* messages;  ///< by weight: queue pairs
    NodePairs pairs;
  };

  /// Pairs of switches at one distance have paths of one latency (fabric/metric.hpp), so a flow stands for all of them. In a
  /// fabric from a file each pair of switches has its own, unless paths are minimal and links alike. Around links that are
  /// down distances are searched.
  bool add_trips(std::size_t pair, std::uint64_t flows) {
    const auto find = [&](FabricCount::Trips& trips) {
      return std::any_of(messages_.begin(), messages_.end(),
                         [&](const auto& m) { return find_trip(pair, m.first, trips); });
    };
    if (!in_.fabric.metric()) {
      const std::uint32_t length = alike_ ? alike_->distance(source(pair), target(pair)) : 0;
      if (const auto known = latency_.find(length); alike_ && known != latency_.end()) {
        trips_.at(known->second).count += flows;
        return true;
      }
      FabricCount::Trips own;
      if (!find(own)) return false;
      latency_.emplace(length, own.latency);
      const auto it = trips_.try_emplace(own.latency, own).first;
      it->second.count += flows;
      return true;
    }
    const std::uint32_t distance = around_ ? around_->distance(source(pair), target(pair))
                                           : in_.fabric.metric()->distance(source(pair), target(pair));
    if (distance == GraphPaths::far) return false;
    const auto [it, fresh] = trips_.try_emplace(distance);
    it->second.count += flows;
    return !fresh || find(it->second);
  }
  bool find_trip(std::size_t pair, const NicPair& nics, FabricCount::Trips& trips) const {
    for (const std::uint32_t a : first_nodes_.at(nics.first)[source(pair)])
      for (const std::uint32_t b : first_nodes_.at(nics.second)[target(pair)]) {
        if (a == b || a == no_node || b == no_node) continue;
        trips.first = flow_between(in_.comm, endpoint(a, nics.first), endpoint(b, nics.second), 0, 0, 0);
        Path path;
        if (!in_.router.route(trips.first, path)) return false;
        trips.latency = path.latency.value;
        return true;
      }
    return false;
  }
  /// The first two nodes with the NIC on each switch: of two pairs of nodes, one is not a node and itself.
  void note_nodes(std::uint16_t nic) {
    const auto [it, fresh] = first_nodes_.try_emplace(nic, switches_, std::array<std::uint32_t, 2>{no_node, no_node});
    for (std::uint32_t node = 0; fresh && node < nodes_; ++node) {
      std::array<std::uint32_t, 2>& first = it->second[switch_of(node, nic)];
      if (std::uint32_t& free = first[0] == no_node ? first[0] : first[1]; free == no_node) free = node;
    }
  }

  const FabricCount::Input& in_;
  std::uint32_t nodes_, switches_;
  std::optional<GraphPaths> around_;         ///< if a link is down
  const GraphPaths* alike_ = nullptr;        ///< if the latency of a path follows from its length
  std::map<std::uint32_t, double> latency_;  ///< the same by length
  std::uint64_t flows_ = 0;
  std::map<NicPair, std::map<std::uint32_t, std::uint64_t>> messages_;  ///< by weight: queue pairs
  static constexpr std::uint32_t no_node = static_cast<std::uint32_t>(-1);
  std::map<std::uint16_t, std::vector<std::array<std::uint32_t, 2>>> first_nodes_;  ///< by NIC and switch
  std::map<double, FabricCount::Trips> trips_;                                      ///< by distance, or latency
};

}  // namespace

std::optional<PairCount> count_switch_pairs(const FabricCount::Input& in, const std::vector<NetworkEdge>& edges,
                                            std::uint64_t most_hashed) {
  if (in.fabric.switches() > most_switches) return {};
  SwitchPairCounter counter(in, edges);
  if (in.router.parting() == Router::Parting::at_random && counter.flows() <= most_hashed) return {};
  PairCount found;
  if (!counter.count(found)) return {};
  return found;
}

}  // namespace fabricast
