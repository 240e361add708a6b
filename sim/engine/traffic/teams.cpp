// Groups of ranks as teams of nodes (teams.hpp): rank r is GPU r % g of node r / g, with g GPUs per NCCL node.
//
// Nodes keep the order of the group's ranks, because NCCL's rings and trees follow the ranks. GPUs within a node are
// sorted, because there NCCL follows their numbers. Groups that list the same GPUs in a different order thus have the
// same shape.
#include "teams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

/// The GPUs of each NCCL node of a group, nodes in the order of its ranks.
struct Spread {
  std::vector<std::uint32_t> nodes;
  std::vector<std::vector<int>> gpus;
};

[[noreturn]] void refuse(const CollectiveKind& kind, const std::string& message, int per_node, std::string_view what) {
  throw UserError::at(
      "workload.parallel", fmt::format("{} groups {}", name_of(kind.part), message),
      fmt::format(
          "the product of `{}` and the dimensions before it in the order of ranks must divide the {} GPUs of {}, "
          "or be a multiple of them",
          name_of(kind.part), per_node, what));
}

/// The distribution of a group's ranks over nodes.
Spread spread_of(const Communicator& comm, const std::vector<std::uint32_t>& ranks) {
  const auto per_node = static_cast<std::uint32_t>(comm.gpus());
  Spread spread;
  std::map<std::uint32_t, std::size_t> place;  // by node; used once a node follows a higher one
  for (const std::uint32_t rank : ranks) {
    FABRICAST_CHECK(rank < comm.ranks(), "a group has a rank that the job does not have");
    const std::uint32_t node = rank / per_node;
    // While ranks ascend, only the last node can recur, and no map is needed.
    std::size_t at = spread.nodes.size();
    if (!spread.nodes.empty() && node == spread.nodes.back()) {
      --at;
    } else if (!place.empty() || (!spread.nodes.empty() && node < spread.nodes.back())) {
      if (place.empty())
        for (std::size_t i = 0; i < spread.nodes.size(); ++i) place.emplace(spread.nodes[i], i);
      at = place.try_emplace(node, at).first->second;
    }
    if (at == spread.nodes.size()) {
      spread.nodes.push_back(node);
      spread.gpus.emplace_back();
    }
    spread.gpus[at].push_back(static_cast<int>(rank % per_node));
  }
  // In a pair inside a node the first rank sends, so the order counts. Otherwise NCCL follows the numbers of GPUs.
  if (ranks.size() > 2 || spread.nodes.size() > 1)
    for (std::vector<int>& gpus : spread.gpus) std::sort(gpus.begin(), gpus.end());
  // Sorted in a copy, because the GPUs of a pair keep their order.
  for (std::vector<int> gpus : spread.gpus) {
    if (gpus.size() == 1) continue;
    std::sort(gpus.begin(), gpus.end());
    FABRICAST_CHECK(std::adjacent_find(gpus.begin(), gpus.end()) == gpus.end(), "a group has a rank twice");
  }
  return spread;
}

/// Checks that all nodes, and all hosts of a node, have the same number of the group's ranks, because
/// NCCL's channels are the same on all nodes.
void check_even(const Communicator& comm, const Spread& spread, const CollectiveKind& kind) {
  if (spread.nodes.size() == 1) return;
  const int hosts = static_cast<int>(comm.hosts_per_node), of_host = comm.gpus() / hosts;
  const auto [least, most] = std::minmax_element(spread.gpus.begin(), spread.gpus.end(),
                                                 [](const auto& a, const auto& b) { return a.size() < b.size(); });
  // One GPU on each node is even.
  if (most->size() == 1) return;
  const std::string_view node = hosts > 1 ? "an NVLink domain" : "a node";
  if (least->size() != most->size())
    refuse(kind, fmt::format("have {} GPUs on one node and {} on another", most->size(), least->size()), comm.gpus(),
           node);
  // The hosts of an NVLink domain must be alike, too, because hosts without a GPU of the group are removed.
  std::set<std::size_t> used, of_each;
  for (const std::vector<int>& gpus : spread.gpus) {
    std::map<int, std::size_t> by_host;
    for (const int g : gpus) ++by_host[g / of_host];
    used.insert(by_host.size());
    for (const auto& [host, count] : by_host) of_each.insert(count);
  }
  if (used.size() > 1 || of_each.size() > 1)
    refuse(kind, "are unevenly distributed over the hosts of NVLink domains", of_host, "a host");
}

/// Fills in the members of each node, because loads inside a node are summed over all teams on it. Members are counted
/// by node first, then distributed.
void list_members(TeamSet& set) {
  for (const Team& t : set.teams) set.nodes.insert(set.nodes.end(), t.nodes.begin(), t.nodes.end());
  std::sort(set.nodes.begin(), set.nodes.end());
  set.nodes.erase(std::unique(set.nodes.begin(), set.nodes.end()), set.nodes.end());
  const auto place = [&](std::uint32_t node) {
    return static_cast<std::size_t>(std::lower_bound(set.nodes.begin(), set.nodes.end(), node) - set.nodes.begin());
  };
  set.first.assign(set.nodes.size() + 1, 0);
  for (const Team& t : set.teams)
    for (const std::uint32_t node : t.nodes) ++set.first[place(node) + 1];
  std::partial_sum(set.first.begin(), set.first.end(), set.first.begin());
  set.members.resize(set.first.back());
  std::vector<std::uint32_t> next(set.first.begin(), set.first.end() - 1);
  for (std::uint32_t t = 0; t < set.teams.size(); ++t)
    for (std::uint32_t i = 0; i < set.teams[t].nodes.size(); ++i)
      set.members[next[place(set.teams[t].nodes[i])]++] = {t, i};
}

}  // namespace

TeamSet teams_of(const World& world, const RankGroups& groups, const CollectiveKind& kind) {
  const Communicator& comm = world.planner().comm;
  TeamSet set;
  std::map<TeamShape, std::uint32_t> known;
  for (const std::vector<std::uint32_t>& ranks : groups) {
    FABRICAST_CHECK(ranks.size() > 1, "a group of one rank does not communicate");
    const Spread spread = spread_of(comm, ranks);
    check_even(comm, spread, kind);
    // If nodes have different GPUs, those of the first node represent all (docs/models/traffic.md).
    const TeamShape shape{spread.gpus.front(), static_cast<std::uint32_t>(spread.nodes.size())};
    const auto [it, fresh] = known.try_emplace(shape, static_cast<std::uint32_t>(set.shapes.size()));
    if (fresh) set.shapes.push_back(shape);
    Team team{it->second, spread.nodes, {}};
    for (std::size_t i = 0; i < spread.nodes.size(); ++i)
      // Hosts of an NVLink domain without a rank of the group are omitted.
      for (const int host : hosts_of(comm.node, spread.gpus[i]))
        team.placement.push_back(
            comm.placement[spread.nodes[i] * comm.hosts_per_node + static_cast<std::uint32_t>(host)]);
    set.teams.push_back(std::move(team));
  }
  list_members(set);
  return set;
}

}  // namespace fabricast
