// Flows between switches, for routers that balance them (router_under_load.hpp).
//
// With w_e the weight of connection e and ends(e) its NIC ports,
//
//   F(s, d) = sum of w_e over e from switch s to switch d,     port = max over ports e' of (sum of w_e at e') / C_e'  (1)
#include "router_under_load.hpp"

#include <algorithm>
#include <map>

#include "fabricast/collective/algorithm.hpp"
#include "loads.hpp"
#include "node_pairs.hpp"

namespace fabricast {

namespace {

class Traffic {
 public:
  Traffic(const Communicator& comm, const Plan& plan, const Fabric& fabric)
      : comm_(comm), fabric_(fabric), at_(2 * std::size_t{fabric.endpoints()}, 0) {
    const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
    const std::vector<NetworkEdge> alike =
        algorithm.edges_of_pair ? algorithm.edges_of_pair(comm, plan) : std::vector<NetworkEdge>();
    if (!alike.empty()) add_all_pairs(alike);
    if (!alike.empty() || !algorithm.network_edges) return;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> flows;  // by second switch, then by first
    for (int c = 0; c < plan.channels; ++c)
      algorithm.network_edges(comm, plan, c, [&](const NetworkEdge& edge) {
        const std::uint32_t from = endpoint(edge.from, edge.from_nic), to = endpoint(edge.to, edge.to_nic);
        at_[std::size_t{2} * from] += edge.weight;
        at_[2 * to + 1] += edge.weight;
        flows[{switch_of_port(fabric, to), switch_of_port(fabric, from)}] += edge.weight;
      });
    for (const auto& [ends, count] : flows)
      if (ends.first != ends.second) pairs_.push_back({ends.second, ends.first, count});
  }

  /// By destination.
  const std::vector<SwitchFlows>& pairs() const { return pairs_; }
  double port(const LinkState& state) const {
    double longest = 0;
    for (std::uint32_t l = 0; l < at_.size(); ++l)
      if (at_[l] > 0)
        longest = std::max(longest,
                           static_cast<double>(at_[l]) / (fabric_.link_class(LinkId(l)).rate.value * state.factor(l)));
    return longest;
  }

 private:
  std::uint32_t endpoint(std::uint32_t node, std::uint16_t nic) const {
    return comm_.endpoint(node, nic, fabric_.ports_per_node());
  }

  /// Every node sends the same to every other one.
  void add_all_pairs(const std::vector<NetworkEdge>& edges) {
    std::map<NicPair, std::uint64_t> by_nics;
    for (const NetworkEdge& edge : edges) by_nics[{edge.from_nic, edge.to_nic}] += edge.weight;
    const auto nodes = static_cast<std::uint32_t>(comm_.nodes());
    std::vector<std::pair<NodePairs, std::uint64_t>> counted;
    for (const auto& [nics, flows] : by_nics) {
      for (std::uint32_t node = 0; node < nodes; ++node) {
        at_[std::size_t{2} * endpoint(node, nics.first)] += flows * (nodes - 1);
        at_[2 * endpoint(node, nics.second) + 1] += flows * (nodes - 1);
      }
      counted.emplace_back(NodePairs(comm_, fabric_, nics), flows);
    }
    std::vector<std::uint64_t> row(fabric_.switches());
    for (std::uint32_t to = 0; to < row.size(); ++to) {
      std::fill(row.begin(), row.end(), 0);
      for (const auto& [pairs, flows] : counted) pairs.add_row(to, flows, row);
      for (std::uint32_t from = 0; from < row.size(); ++from)
        if (row[from] > 0 && from != to) pairs_.push_back({from, to, row[from]});
    }
  }

  const Communicator& comm_;
  const Fabric& fabric_;
  std::vector<SwitchFlows> pairs_;
  std::vector<std::uint64_t> at_;  ///< by link of a NIC port
};

}  // namespace

std::unique_ptr<Router> router_under_load(const Communicator& comm, const Plan& plan, const Fabric& fabric,
                                          const Router& router, const NetworkSegment& segment) {
  if (!router.follows_load()) return nullptr;
  const Traffic traffic(comm, plan, fabric);
  // An operation may reach less than the rate of ports, and flows of several ports less than that of links.
  return router.under_load(traffic.pairs(), traffic.port(segment.links) * segment.contended / segment.ports);
}

}  // namespace fabricast
