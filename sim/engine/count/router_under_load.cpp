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

namespace fabricast {

namespace {

class Traffic {
 public:
  Traffic(const Communicator& comm, const Plan& plan, const Fabric& fabric)
      : comm_(comm), fabric_(fabric), n_(fabric.switches()), pairs_(std::size_t{n_} * n_, 0), at_(fabric.links(), 0) {
    switch_of_.assign(fabric.endpoints(), n_);
    up_.assign(fabric.endpoints(), 0);
    for (std::uint32_t l = 0; l < fabric.links(); ++l)
      if (const auto [from, to] = fabric.link(LinkId(l)); fabric.is_endpoint(from)) {
        switch_of_[from.value] = to.value - fabric.endpoints();
        up_[from.value] = l;
      }
    const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
    const std::vector<NetworkEdge> alike =
        algorithm.edges_of_pair ? algorithm.edges_of_pair(comm, plan) : std::vector<NetworkEdge>();
    if (!alike.empty()) add_all_pairs(alike);
    if (!alike.empty() || !algorithm.network_edges) return;
    for (int c = 0; c < plan.channels; ++c)
      algorithm.network_edges(comm, plan, c, [&](const NetworkEdge& edge) {
        add(endpoint(edge.from, edge.from_nic), endpoint(edge.to, edge.to_nic), edge.weight);
      });
  }

  /// By destination.
  std::vector<SwitchFlows> pairs() const {
    std::vector<SwitchFlows> list;
    for (std::uint32_t to = 0; to < n_; ++to)
      for (std::uint32_t from = 0; from < n_; ++from)
        if (const std::uint64_t flows = pairs_[std::size_t{to} * n_ + from]; flows > 0 && from != to)
          list.push_back({from, to, flows});
    return list;
  }
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
  void add(std::uint32_t from, std::uint32_t to, std::uint64_t flows) {
    pairs_[std::size_t{switch_of_[to]} * n_ + switch_of_[from]] += flows;
    at_[up_[from]] += flows;
    at_[up_[to] ^ 1U] += flows;
  }

  /// Every node sends the same to every other one.
  void add_all_pairs(const std::vector<NetworkEdge>& edges) {
    std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint64_t> by_nics;
    for (const NetworkEdge& edge : edges) by_nics[{edge.from_nic, edge.to_nic}] += edge.weight;
    const auto nodes = static_cast<std::uint32_t>(comm_.nodes());
    for (const auto& [nics, flows] : by_nics) {
      std::vector<std::uint64_t> from(n_, 0), to(n_, 0);
      for (std::uint32_t node = 0; node < nodes; ++node) {
        const std::uint32_t a = endpoint(node, nics.first), b = endpoint(node, nics.second);
        ++from[switch_of_[a]];
        ++to[switch_of_[b]];
        pairs_[std::size_t{switch_of_[b]} * n_ + switch_of_[a]] -= flows;  // not to itself; added below
        at_[up_[a]] += flows * (nodes - 1);
        at_[up_[b] ^ 1U] += flows * (nodes - 1);
      }
      for (std::uint32_t d = 0; d < n_; ++d)
        for (std::uint32_t s = 0; to[d] > 0 && s < n_; ++s) pairs_[std::size_t{d} * n_ + s] += flows * from[s] * to[d];
    }
  }

  const Communicator& comm_;
  const Fabric& fabric_;
  std::uint32_t n_;
  std::vector<std::uint64_t> pairs_;  ///< by destination, then by source
  std::vector<std::uint64_t> at_;     ///< by link of a NIC port
  std::vector<std::uint32_t> switch_of_, up_;
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
