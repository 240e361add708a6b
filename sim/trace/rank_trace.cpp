#include "rank_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace fabricast::trace {

constexpr std::size_t most_faults = 20;

void Faults::add(const std::string& file, std::string message, std::string hint) {
  if (++count_ > most_faults) return;
  Diagnostic d;
  d.where.file = file;
  d.message = std::move(message);
  d.hint = std::move(hint);
  list_.push_back(std::move(d));
}

void Faults::node(const RankTrace& trace, std::uint32_t node, std::string_view message, std::string hint) {
  add(trace.file, fmt::format("node {} {}", trace.nodes[node].id, message), std::move(hint));
}

void Faults::throw_if_any() {
  if (list_.empty()) return;
  if (count_ > most_faults) {
    Diagnostic more;
    more.message = fmt::format("{} more errors in the trace", count_ - most_faults);
    list_.push_back(std::move(more));
  }
  throw UserError(std::move(list_));
}

/// Reports one cycle of dependencies, if there is any: nodes that a topological sort cannot reach.
void check_order(const RankTrace& trace, Faults& faults) {
  const auto n = static_cast<std::uint32_t>(trace.nodes.size());
  std::vector<std::uint32_t> first(n + 1, 0), followers(trace.dependencies.size()), waits(n), ready;
  for (const std::uint32_t d : trace.dependencies) ++first[d + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    waits[i] = trace.first_dependency[i + 1] - trace.first_dependency[i];
    for (std::uint32_t k = trace.first_dependency[i]; k < trace.first_dependency[i + 1]; ++k)
      followers[next[trace.dependencies[k]]++] = i;
    if (waits[i] == 0) ready.push_back(i);
  }
  std::uint32_t done = 0;
  for (; !ready.empty(); ++done) {
    const std::uint32_t i = ready.back();
    ready.pop_back();
    for (std::uint32_t k = first[i]; k < first[i + 1]; ++k)
      if (--waits[followers[k]] == 0) ready.push_back(followers[k]);
  }
  if (done == n) return;
  std::uint32_t at = 0;
  while (waits[at] == 0) ++at;
  const std::vector<std::uint32_t> cycle = walk_cycle(at, [&](std::uint32_t i) {
    std::uint32_t k = trace.first_dependency[i];
    while (waits[trace.dependencies[k]] == 0) ++k;
    return trace.dependencies[k];
  });
  std::vector<std::string> ids;
  for (const std::uint32_t i : cycle) ids.push_back(fmt::format("{}", trace.nodes[i].id));
  faults.add(trace.file, "nodes depend on each other in a cycle: " + shown_cycle(ids));
}

std::string shown_cycle(const std::vector<std::string>& places) {
  constexpr std::size_t most_shown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(places.size(), most_shown); ++i) text += places[i] + " -> ";
  if (places.size() > most_shown) text += fmt::format("({} more) -> ", places.size() - most_shown);
  return text + places.front();
}

void link_nodes(RankTrace& trace, Faults& faults) {
  std::unordered_map<std::uint64_t, std::uint32_t> index;
  index.reserve(trace.nodes.size());
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i)
    if (!index.emplace(trace.nodes[i].id, i).second)
      faults.node(trace, i, "is defined twice", "every node of a file needs its own id");
  trace.dependencies.clear();
  trace.dependencies.reserve(trace.needs.size());
  bool all_there = true;
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i)
    for (std::uint32_t k = trace.first_dependency[i]; k < trace.first_dependency[i + 1]; ++k) {
      const auto found = index.find(trace.needs[k]);
      trace.dependencies.push_back(found == index.end() ? none : found->second);
      if (found != index.end()) continue;
      all_there = false;
      faults.node(trace, i, fmt::format("depends on node {}, which does not exist", trace.needs[k]));
    }
  if (all_there) check_order(trace, faults);
}

}  // namespace fabricast::trace
