// (1) of pair_count.hpp. The number of nodes with a NIC on each leaf, in each group and in each island is counted once.
// From these follows, for each end, how many of the other ends are at which distance.
//
// Numbers are integers, by weight of messages. The router splits flows, not weights, because a sample of n flows of
// weight w varies more than one of n w flows.
#include "pair_count.hpp"

#include <array>
#include <map>

#include "switch_pair_count.hpp"

namespace fabricast {

namespace {

/// What a node sends to any other, from one NIC to another: number of queue pairs by weight.
using MessagesTo = std::map<std::uint32_t, std::uint64_t>;

/// Distance of the ends of a flow: the tier at which they meet.
enum class Apart : std::uint8_t { by_leaf, by_spine, by_core };

class PairCounter {
 public:
  PairCounter(const FabricCount::Input& in, const std::vector<NetworkEdge>& edges)
      : in_(in), clos_(*in.fabric.clos()), nodes_(static_cast<std::uint64_t>(in.comm.nodes())) {
    const auto pairs = static_cast<std::uint64_t>(in.comm.qps_per_connection);
    for (const NetworkEdge& edge : edges) pairs_[{edge.from_nic, edge.to_nic}][edge.weight] += pairs;
    for (const auto& [nics, messages] : pairs_) {
      note_places(nics.first);
      note_places(nics.second);
      for (const auto& [weight, flows] : messages) flows_ += flows * nodes_ * (nodes_ - 1);
    }
  }

  std::uint64_t flows() const { return flows_; }

  /// \returns false if some of the flows have no path
  bool count(PairCount& out) {
    out.counts.assign(in_.fabric.links() + in_.router.bundles(), 0);
    std::map<std::uint32_t, std::vector<LeafFlows>> by_weight;
    for (const auto& [nics, messages] : pairs_)
      for (std::uint32_t node = 0; node < nodes_; ++node) {
        const std::uint32_t from = endpoint(node, nics.first), to = endpoint(node, nics.second);
        const Flows sent = flows_of(from, nics.second, to), received = flows_of(to, nics.first, from);
        // Routing one by one will then find the flow without a path and name its ends.
        if (sent.lost > 0) return false;
        for (const auto& [weight, flows] : messages) {
          // Ports carry the flows to all other nodes, near or far.
          out.counts[Clos::endpoint_up(from)] += weight * flows * (nodes_ - 1);
          out.counts[Clos::endpoint_down(to)] += weight * flows * (nodes_ - 1);
          std::vector<LeafFlows>& leaves = by_weight[weight];
          leaves.resize(clos_.leaves);
          LeafFlows &out_of = leaves[clos_.leaf_of(from)], &into = leaves[clos_.leaf_of(to)];
          out_of.near_out += flows * sent.near;
          out_of.far_out += flows * sent.far;
          into.near_in += flows * received.near;
          into.far_in += flows * received.far;
          count_trips(Apart::by_leaf, flows * sent.beside, node, nics);
          count_trips(Apart::by_spine, flows * sent.near, node, nics);
          count_trips(Apart::by_core, flows * sent.far, node, nics);
        }
      }
    const bool over_spines = trips_[1].count + trips_[2].count > 0, over_cores = trips_[2].count > 0;
    // The flows have no path either if the tier that would connect them does not exist.
    if ((over_spines && clos_.spines_per_group == 0) || (over_cores && clos_.cores_per_plane == 0)) return false;
    for (const auto& of_weight : by_weight) {
      const std::uint64_t weight = of_weight.first;
      in_.router.part(of_weight.second, of_weight.first,
                      [&](std::uint32_t resource, std::uint64_t flows) { out.counts[resource] += weight * flows; });
    }
    for (const FabricCount::Trips& trips : trips_)
      if (trips.count > 0) out.trips.push_back(trips);
    return true;
  }

 private:
  struct Places {
    std::vector<std::uint64_t> on_leaf, in_group, in_island;  ///< number of nodes whose NIC is there
  };
  /// Flows to or from the other nodes, by distance; `lost`: those without a path.
  struct Flows {
    std::uint64_t beside = 0, near = 0, far = 0, lost = 0;
  };

  std::uint32_t endpoint(std::uint32_t node, std::uint16_t nic) const {
    return in_.comm.endpoint(node, nic, in_.fabric.ports_per_node());
  }
  std::uint32_t group(std::uint32_t end) const { return clos_.group_of(clos_.leaf_of(end)); }
  std::uint32_t island(std::uint32_t end) const { return clos_.island_of(group(end)); }

  void note_places(std::uint16_t nic) {
    const auto [it, fresh] = places_.try_emplace(nic);
    if (!fresh) return;
    Places& places = it->second;
    places.on_leaf.resize(clos_.leaves);
    places.in_group.resize(clos_.groups);
    places.in_island.resize(clos_.islands());
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      const std::uint32_t end = endpoint(node, nic);
      ++places.on_leaf[clos_.leaf_of(end)];
      ++places.in_group[group(end)];
      ++places.in_island[island(end)];
    }
  }

  /// (1) for one end and the NICs of one number, of which `own` belongs to the same node.
  Flows flows_of(std::uint32_t end, std::uint16_t nic, std::uint32_t own) const {
    const Places& places = places_.at(nic);
    // A node sends nothing to itself, so its own NIC is subtracted wherever it was counted.
    const bool leaf = clos_.leaf_of(end) == clos_.leaf_of(own), same_group = group(end) == group(own),
               same_island = island(end) == island(own);
    const std::uint64_t on_leaf = places.on_leaf[clos_.leaf_of(end)] - leaf,
                        in_group = places.in_group[group(end)] - same_group,
                        in_island = places.in_island[island(end)] - same_island;
    return {on_leaf, in_group - on_leaf, in_island - in_group, nodes_ - 1 - in_island};
  }

  Apart apart(std::uint32_t a, std::uint32_t b) const {
    return clos_.leaf_of(a) == clos_.leaf_of(b) ? Apart::by_leaf
           : group(a) == group(b)               ? Apart::by_spine
                                                : Apart::by_core;
  }

  /// One flow of each distance stands for the others. \pre there is one from this node
  void note_trip(Apart length, std::uint32_t node, std::pair<std::uint16_t, std::uint16_t> nics) {
    const std::uint32_t from = endpoint(node, nics.first);
    for (std::uint32_t other = 0; other < nodes_; ++other) {
      const std::uint32_t to = endpoint(other, nics.second);
      if (other == node || apart(from, to) != length) continue;
      // In a Clos, all paths over the same number of tiers have the same latency.
      FabricCount::Trips& trips = trips_[static_cast<std::size_t>(length)];
      trips.first = flow_between(in_.comm, from, to, 0, 0, 0);
      Path path;
      if (in_.router.route(trips.first, path)) trips.latency = path.latency.value;
      return;
    }
  }
  void count_trips(Apart length, std::uint64_t flows, std::uint32_t node,
                   std::pair<std::uint16_t, std::uint16_t> nics) {
    FabricCount::Trips& trips = trips_[static_cast<std::size_t>(length)];
    if (flows > 0 && trips.count == 0) note_trip(length, node, nics);
    trips.count += flows;
  }

  const FabricCount::Input& in_;
  const Clos& clos_;
  std::uint64_t nodes_, flows_ = 0;
  std::map<std::pair<std::uint16_t, std::uint16_t>, MessagesTo> pairs_;  ///< by NICs
  std::map<std::uint16_t, Places> places_;                               ///< by NIC
  std::array<FabricCount::Trips, 3> trips_{};                            ///< by Apart
};

}  // namespace

std::optional<PairCount> count_pairs(const FabricCount::Input& in, std::uint64_t most_hashed) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(in.plan.algorithm);
  const Router::Parting parting = in.router.parting();
  if (!algorithm.edges_of_pair || parting == Router::Parting::one_by_one) return {};
  const std::vector<NetworkEdge> edges = algorithm.edges_of_pair(in.comm, in.plan);
  if (edges.empty()) return {};
  if (!in.fabric.clos()) return count_switch_pairs(in, edges, most_hashed);
  PairCounter counter(in, edges);
  // Few flows are hashed one by one: this is exact, while a sample is right only in distribution.
  if (parting == Router::Parting::at_random && counter.flows() <= most_hashed) return {};
  PairCount found;
  if (!counter.count(found)) return {};
  return found;
}

}  // namespace fabricast
