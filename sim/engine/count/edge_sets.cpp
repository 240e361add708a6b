// (1) of edge_sets.hpp: the first channel of each set is counted for all channels of the set, and sets are counted
// concurrently.
//
// Counts are lists of crossings, not arrays over the fabric's links, because a group of a few nodes crosses few links.
#include "edge_sets.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "crossing_list.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"

namespace fabricast {

namespace {

/// How often resources are crossed, in ascending order of resources.
using Sums = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

/// Counts the connections of a set on each resource whose count does not depend on the seed.
class SetCounter {
 public:
  SetCounter(const Communicator& comm, const Plan& plan, const Fabric& fabric, const Router& router, int channel)
      : comm_(comm), plan_(plan), fabric_(fabric), router_(router), channel_(channel) {}

  /// Fills in the set. \returns ports with their counts, in ascending order of links
  Sums count(const CollectiveAlgorithm& algorithm, EdgeSet& set) {
    std::uint32_t e = 0;
    algorithm.network_edges(comm_, plan_, channel_, [&](const NetworkEdge& edge) { add(edge, e++ % 2, set); });
    set.between = sums(between_);
    return sums(ports_);
  }

 private:
  void add(const NetworkEdge& edge, std::uint32_t odd, EdgeSet& set) {
    const std::uint32_t from = comm_.endpoint(edge.from, edge.from_nic, fabric_.ports_per_node()),
                        to = comm_.endpoint(edge.to, edge.to_nic, fabric_.ports_per_node());
    ports_.add(2 * from, 0, edge.weight);
    ports_.add(2 * to + 1, 0, edge.weight);
    // A direct path consists of two ports.
    if (router_.direct(from, to)) return;
    if (!router_.settled(from, to)) {
      set.open.push_back({from, to, edge.weight, odd});
      return;
    }
    // On a settled path all queue pairs are alike, so the first one is routed.
    const Flow flow = flow_between(comm_, from, to, static_cast<std::uint32_t>(channel_), odd, 0);
    if (!router_.route(flow, path_)) throw_cut(fabric_, {}, flow);
    for (std::size_t i = 1; i + 1 < path_.resources.size(); ++i) between_.add(path_.resources[i], 0, edge.weight);
  }
  static Sums sums(CrossingList& list) {
    list.sort();
    Sums sums;
    list.for_each(1, [&](std::uint32_t resource, std::span<const std::uint64_t> count) {
      sums.emplace_back(resource, count.front());
    });
    return sums;
  }

  const Communicator& comm_;
  const Plan& plan_;
  const Fabric& fabric_;
  const Router& router_;
  int channel_;
  CrossingList ports_, between_;
  Path path_;
};

}  // namespace

Flow flow_between(const Communicator& comm, std::uint32_t from, std::uint32_t to, std::uint32_t channel,
                  std::uint32_t odd, std::uint32_t pair) {
  // A channel has eight numbers for each queue pair of a connection. Connections with an even number have 0 at their
  // first end and 2 at the other; those with an odd number have 4 and 6. So the two ends of a connection differ, and so
  // do consecutive connections of a channel, of which one enters a NIC and the other leaves it.
  const auto pairs = static_cast<std::uint32_t>(comm.qps_per_connection);
  const std::uint32_t qp = comm.first_qp * pairs + (channel * 8 + odd * 4) * pairs + pair;
  return {from, to, qp, qp + 2 * pairs};
}

void throw_cut(const Fabric& fabric, const NetworkSegment& segment, const Flow& flow) {
  std::string faults;
  for (const Fault& f : segment.faults) faults += (faults.empty() ? " while " : ", ") + f.target;
  if (!faults.empty()) faults += " is down";
  throw UserError::at(segment.faults.empty() ? "fabric" : "faults",
                      fmt::format("the fabric is cut: no path from {} to {}{}", fabric.name(VertexId(flow.from)),
                                  fabric.name(VertexId(flow.to)), faults));
}

std::shared_ptr<const EdgeSets> EdgeSets::of(const Communicator& comm, const Plan& plan, const Fabric& fabric,
                                             const Router& router, std::size_t threads) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  if (!algorithm.edge_set || !algorithm.network_edges || algorithm.network_trees || !router.ends_at_ports())
    return nullptr;
  auto made = std::make_shared<EdgeSets>();
  std::map<int, std::uint32_t> known;
  std::vector<int> first;  // channel of each set
  for (int c = 0; c < plan.channels; ++c) {
    const auto [it, fresh] = known.try_emplace(algorithm.edge_set(comm, c), static_cast<std::uint32_t>(known.size()));
    if (fresh) first.push_back(c);
    made->number_.push_back(it->second);
  }
  made->sets_.resize(first.size());
  std::vector<Sums> ports(first.size());
  in_parallel(first.size(), threads, [&](std::size_t s) {
    ports[s] = SetCounter(comm, plan, fabric, router, first[s]).count(algorithm, made->sets_[s]);
  });

  // Now by port, with sets in the place of channels. Ports with equal counts of all sets share a row, because there are
  // millions of ports and few distinct rows.
  CrossingList all;
  for (std::uint32_t s = 0; s < ports.size(); ++s)
    for (const auto& [port, count] : std::exchange(ports[s], {})) all.add(port, s, count);
  all.sort();
  made->counts_ = RowNumbers<std::uint64_t>(ports.size());
  all.for_each(ports.size(), [&](std::uint32_t port, std::span<const std::uint64_t> counts) {
    made->ports_.emplace_back(port, made->counts_.find_or_add(counts).first);
  });
  return made;
}

std::uint64_t EdgeSets::crossings() const {
  // A path crosses at most four links between ports: up to a spine, to a core, and down again.
  std::uint64_t most = 0;
  for (const EdgeSet& set : sets_) most = std::max<std::uint64_t>(most, 4 * set.open.size() + set.between.size());
  return most;
}

}  // namespace fabricast
