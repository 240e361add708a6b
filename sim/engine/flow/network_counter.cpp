#include "network_counter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "fabricast/core/error.hpp"

namespace fabricast {

NetworkCounter::NetworkCounter(const Communicator& comm, const Plan& plan, const Fabric& fabric, const Router& router,
                               const NetworkSegment& segment, double tree_weight)
    : comm_(comm),
      plan_(plan),
      algorithm_(*find_by_algorithm(plan.algorithm)),
      fabric_(fabric),
      router_(router),
      segment_(segment),
      queue_pairs_(static_cast<std::uint32_t>(comm.qps_per_connection)),
      tree_weight_(tree_weight) {
  const std::uint32_t resources = fabric.links() + router.bundles();
  signature_.assign(resources, untouched);
  count_.assign(resources, 0);
  blocked_.assign(static_cast<std::size_t>(plan.channels), false);
}

std::uint32_t NetworkCounter::root_of(std::uint32_t resource) {
  double rate = capacity(fabric_, router_, segment_.links, resource).value;
  if (segment_.ports != 1 && is_port(fabric_, resource)) rate *= segment_.ports;
  return signatures_.root(rate);
}

void NetworkCounter::count(Loads& loads) {
  for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(plan_.channels); ++c) count_channel(c);
  sets_.clear();
  collect_groups(loads);
  loads.blocked = blocked_;
  seen_.resize(static_cast<std::size_t>(plan_.channels));
}

bool NetworkCounter::uses(LinkId link) const {
  if (signature_[link.value] != untouched) return true;
  for (std::uint32_t b = 0; b < router_.bundles(); ++b) {
    const auto [first, count] = router_.bundle(b);
    const bool member = link.value >= first && link.value < first + 2 * count && (link.value - first) % 2 == 0;
    if (member && signature_[fabric_.links() + b] != untouched) return true;
  }
  return false;
}

const EdgeGroups& NetworkCounter::edges(std::uint32_t channel) {
  if (seen_[channel].group.empty()) see(channel, seen_[channel]);
  return seen_[channel];
}

template <class Use>
void NetworkCounter::for_each_path(std::uint32_t channel, std::size_t edge_index, const NetworkEdge& edge, Use use) {
  for (std::uint32_t q = 0; q < queue_pairs_; ++q) {
    const Flow flow = flow_of(comm_, fabric_, edge, static_cast<int>(channel), edge_index, q);
    if (router_.route(flow, path_))
      use(path_);
    else if (segment_.faults.empty() || segment_.end == std::numeric_limits<double>::infinity())
      cut(flow);
    else
      blocked_[channel] = true;
  }
}

template <class Use>
void NetworkCounter::for_each_edge(std::uint32_t channel, Use use) {
  std::size_t e = 0;
  if (algorithm_.network_edges)
    algorithm_.network_edges(comm_, plan_, static_cast<int>(channel), [&](const NetworkEdge& edge) { use(e++, edge); });
}

void NetworkCounter::cut(const Flow& flow) const {
  std::string faults;
  for (const Fault& f : segment_.faults) faults += (faults.empty() ? " while " : ", ") + f.target;
  if (!faults.empty()) faults += " is down";
  throw UserError::at(segment_.faults.empty() ? "fabric" : "faults",
                      fmt::format("the fabric is cut: no path from {} to {}{}", fabric_.name(VertexId(flow.from)),
                                  fabric_.name(VertexId(flow.to)), faults));
}

void NetworkCounter::count_path(const Path& path, std::uint64_t connections) {
  for (std::size_t i = 0; i < path.resources.size(); ++i) {
    const std::uint32_t r = path.resources[i];
    if (count_[r] == 0) touched_.push_back(r);
    const std::uint64_t one =
        path.weights.empty() ? 1 : static_cast<std::uint64_t>(path.weights[i] / weight_unit + 0.5);
    count_[r] += one * connections;
    weighted_ |= !path.weights.empty();
  }
}

void NetworkCounter::count_edge(std::uint32_t channel, std::size_t edge_index, const NetworkEdge& edge, Tally& tally) {
  for_each_path(channel, edge_index, edge, [&](const Path& path) {
    count_path(path, edge.weight);
    tally.latency += path.latency.value, ++tally.paths;
  });
}

const NetworkCounter::EdgeSet& NetworkCounter::set_of(std::uint32_t channel) {
  const auto [it, fresh] = sets_.try_emplace(algorithm_.edge_set(comm_, static_cast<int>(channel)));
  EdgeSet& set = it->second;
  if (!fresh) return set;
  for_each_edge(channel, [&](std::size_t e, const NetworkEdge& edge) {
    const Flow flow = flow_of(comm_, fabric_, edge, static_cast<int>(channel), e, 0);
    if (!router_.settled(flow.from, flow.to) || !router_.route(flow, path_)) {
      set.open.emplace_back(e, edge);
      return;
    }
    count_path(path_, std::uint64_t{edge.weight} * queue_pairs_);
    set.tally.latency += path_.latency.value * queue_pairs_, set.tally.paths += queue_pairs_;
  });
  for (const std::uint32_t r : touched_) set.settled.emplace_back(r, std::exchange(count_[r], 0));
  touched_.clear();
  return set;
}

void NetworkCounter::count_channel(std::uint32_t channel) {
  touched_.clear();
  Tally tally;
  const EdgeSet* set = algorithm_.edge_set ? &set_of(channel) : nullptr;
  if (set) {
    tally = set->tally;
    for (const auto& [e, edge] : set->open) count_edge(channel, e, edge, tally);
  } else {
    for_each_edge(channel, [&](std::size_t e, const NetworkEdge& edge) { count_edge(channel, e, edge, tally); });
  }
  if (algorithm_.network_trees) count_trees(channel, tally);
  mean_latency_.push_back(tally.paths ? tally.latency / static_cast<double>(tally.paths) : 0);
  const auto sign = [&](std::uint32_t r, std::uint64_t count) {
    if (signature_[r] == untouched) signature_[r] = root_of(r), used_.push_back(r);
    signature_[r] = signatures_.child(signature_[r], channel, count);
    count_[r] = 0;
  };
  if (set)
    for (const auto& [r, count] : set->settled) sign(r, count + count_[r]);
  for (const std::uint32_t r : touched_)
    if (count_[r] > 0) sign(r, count_[r]);
}

void NetworkCounter::count_trees(std::uint32_t channel, Tally& tally) {
  // Weights of parts count in their own unit; one tree is one connection of every queue pair.
  weighted_ = true;
  const auto weight = static_cast<std::uint64_t>(tree_weight_ * queue_pairs_ / weight_unit + 0.5);
  algorithm_.network_trees(comm_, plan_, static_cast<int>(channel), [&](const AggregationTree& tree) {
    for (const LinkId link : tree.links) {
      if (segment_.links.down(link.value)) {
        if (segment_.end == std::numeric_limits<double>::infinity())
          throw UserError::at("faults", fmt::format("the SHARP tree is cut: {} is down", fabric_.name(link)),
                              "without NCCL_COLLNET_ENABLE the job goes round it");
        blocked_[channel] = true;
      }
      if (count_[link.value] == 0) touched_.push_back(link.value);
      count_[link.value] += weight;
    }
    tally.latency += tree.latency.value, ++tally.paths;
  });
}

void NetworkCounter::collect_groups(Loads& loads) {
  group_of_.assign(signatures_.size(), no_group);
  crowd_.assign(loads.groups.size(), 0);
  const double unit = (weighted_ ? weight_unit : 1.0) / queue_pairs_;
  std::sort(used_.begin(), used_.end());
  for (const std::uint32_t r : used_) {
    const std::uint32_t s = signature_[r];
    if (group_of_[s] == no_group) {
      group_of_[s] = static_cast<std::uint32_t>(loads.groups.size());
      LinkGroup g = signatures_.group(s, static_cast<std::size_t>(plan_.channels), unit);
      g.resource = r;
      crowd_.push_back(g.crowd());
      loads.groups.push_back(std::move(g));
    }
    ++loads.groups[group_of_[s]].members;
  }
}

void NetworkCounter::see(std::uint32_t channel, EdgeGroups& out) {
  for_each_edge(channel, [&](std::size_t e, const NetworkEdge& edge) {
    std::uint32_t worst = no_group, middle = no_group, port = no_group;
    double latency = 0;
    for_each_path(channel, e, edge, [&](const Path& path) {
      for (std::size_t i = 0; i < path.resources.size(); ++i) {
        const std::uint32_t g = group_of_[signature_[path.resources[i]]];
        if (worst == no_group || crowd_[g] > crowd_[worst]) worst = g;
        if (i == 0 || i + 1 == path.resources.size()) continue;
        if (middle == no_group || crowd_[g] > crowd_[middle]) middle = g;
      }
      latency = std::max(latency, path.latency.value);
      port = group_of_[signature_[path.resources.front()]];
    });
    out.group.push_back(worst), out.port.push_back(port), out.middle.push_back(middle), out.latency.push_back(latency);
  });
}

}  // namespace fabricast
