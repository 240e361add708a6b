// What the connections of one channel cross, one after the other: the terms of (1) of fabric_count.hpp, which
// fabric_count.cpp sums. For each queue pair of a connection with weight w_e, and each link l of its path,
//
//   add( l, w_e x part )     part: 1; on a path that is spread over links, its fraction on l in units of 2^-20      (1)
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "../../routing/detours.hpp"
#include "fabric_count.hpp"
#include "fabricast/core/error.hpp"
#include "loads.hpp"
#include "node_pairs.hpp"

namespace fabricast {

/// Unit of fractions of a connection. Sums of integers do not depend on the order of threads. A power of two, so that
/// halves, quarters and so on are exact; the error of other fractions is less than a millionth.
inline constexpr double weight_unit = 0x1p-20;

/// What a flow adds to the count of a link of its path: 1, or its fraction in that unit.
inline std::uint64_t count_of(const Path& path, std::size_t link) {
  return path.weights.empty() ? 1 : static_cast<std::uint64_t>(path.weights[link] / weight_unit + 0.5);
}

/// A flow without a path waits if its faults end: its channel is blocked until the engine counts the next segment.
/// \throws UserError if they do not end
inline void require_end(const FabricCount::Input& in, const Flow& flow) {
  if (in.segment.faults.empty() || in.segment.end == for_ever) throw_cut(in.fabric, in.segment, flow);
}

/// Calls add(resource, count) for what a channel crosses between ports.
/// \returns whether one of its connections waits for a path
template <class Add>
bool cross_between_ports(const FabricCount::Input& in, const EdgeSets& sets, std::uint32_t channel, Add add) {
  bool waits = false;
  Path path;
  const auto pairs = static_cast<std::uint32_t>(in.comm.qps_per_connection);
  const EdgeSet& set = sets.of_channel(channel);
  for (const OpenEdge& e : set.open)
    for (std::uint32_t q = 0; q < pairs; ++q) {
      const Flow flow = flow_between(in.comm, e.from, e.to, channel, e.odd, q);
      if (!in.router.route(flow, path)) {
        require_end(in, flow);
        waits = true;
        continue;
      }
      // The first and the last resource are ports, which are counted with the edge sets.
      for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) add(path.resources[i], std::uint64_t{e.weight});
    }
  // All queue pairs of a settled connection take the same path.
  for (const auto& [r, count] : set.between) add(r, count * pairs);
  return waits;
}

/// What is known of a channel besides what it crosses.
struct Walk {
  bool blocked = false;
  bool weighted = false;                    ///< counts are in `weight_unit`
  std::vector<FabricCount::Trips> trips{};  ///< few, because most paths have equal latencies

  void took(double latency, const Flow& flow = {}, std::uint64_t count = 1) {
    const auto it = std::find_if(trips.begin(), trips.end(), [&](const auto& t) { return t.latency == latency; });
    if (it != trips.end())
      it->count += count;
    else
      trips.push_back({flow, latency, count});
  }
};

/// The same as cross_paths over all detours of the flows: between switches, since each flow would cross most links.
template <class Add>
void cross_all_detours(const FabricCount::Input& in, std::uint32_t channel, const ManyDetours& detours, Walk& walk,
                       Add add) {
  walk.weighted = true;
  constexpr auto whole = static_cast<std::uint64_t>(1 / weight_unit);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> flows;  // by second switch, then by first
  for_each_queue_pair(in.comm, in.plan, in.fabric, channel, [&](const NetworkEdge& edge, const Flow& flow) {
    add(2 * flow.from, whole * edge.weight);
    add(2 * flow.to + 1, whole * edge.weight);
    flows[{switch_of_port(in.fabric, flow.to), switch_of_port(in.fabric, flow.from)}] += edge.weight;
    walk.took(detours.latency(flow).value, flow);
  });
  std::vector<SwitchFlows> pairs;
  for (const auto& [ends, all] : flows)
    if (ends.first != ends.second) pairs.push_back({ends.second, ends.first, all});
  std::vector<double> on(in.fabric.links(), 0);
  if (!pairs.empty()) detours.spread(pairs, on);
  for (std::uint32_t link = 0; link < on.size(); ++link)
    if (const auto parts = static_cast<std::uint64_t>(on[link] / weight_unit + 0.5); parts > 0) add(link, parts);
}

/// Calls add(resource, count) for what a channel crosses, ports included.
template <class Add>
void cross_paths(const FabricCount::Input& in, std::uint32_t channel, Walk& walk, Add add) {
  if (const auto* many = dynamic_cast<const ManyDetours*>(&in.router); many && many->leaves_out())
    return cross_all_detours(in, channel, *many, walk, add);
  Path path;
  for_each_queue_pair(in.comm, in.plan, in.fabric, channel, [&](const NetworkEdge& edge, const Flow& flow) {
    if (!in.router.route(flow, path)) {
      require_end(in, flow);
      walk.blocked = true;
      return;
    }
    walk.weighted |= !path.weights.empty();
    for (std::size_t i = 0; i < path.resources.size(); ++i) add(path.resources[i], count_of(path, i) * edge.weight);
    walk.took(path.latency.value, flow);
  });
}

/// The same for the trees along which switches reduce.
template <class Add>
void cross_trees(const FabricCount::Input& in, const CollectiveAlgorithm& algorithm, std::uint32_t channel, Walk& walk,
                 Add add) {
  // A tree counts as one connection with all its queue pairs, in units of fractions.
  walk.weighted = true;
  const auto weight = static_cast<std::uint64_t>(in.tree_weight * in.comm.qps_per_connection / weight_unit + 0.5);
  algorithm.network_trees(in.comm, in.plan, static_cast<int>(channel), [&](const AggregationTree& tree) {
    for (const LinkId link : tree.links) {
      // A tree is bound to its links. Unlike a connection, it has no other path.
      if (in.segment.links.down(link.value)) {
        if (in.segment.end == for_ever)
          throw UserError::at("faults", fmt::format("the SHARP tree is cut: {} is down", in.fabric.name(link)),
                              "unset NCCL_COLLNET_ENABLE to run without SHARP");
        walk.blocked = true;
      }
      add(link.value, weight);
    }
    walk.took(tree.latency.value);
  });
}

/// Calls add(resource, count) for everything that a channel crosses. \param sets  null: ports are included
template <class Add>
Walk cross(const FabricCount::Input& in, const EdgeSets* sets, std::uint32_t channel, Add add) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(in.plan.algorithm);
  Walk walk;
  if (sets)
    walk.blocked = cross_between_ports(in, *sets, channel, add);
  else if (algorithm.network_edges)
    cross_paths(in, channel, walk, add);
  if (algorithm.network_trees) cross_trees(in, algorithm, channel, walk, add);
  return walk;
}

}  // namespace fabricast
