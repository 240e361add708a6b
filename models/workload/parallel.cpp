// Ranks and their coordinates: a rank is a number in mixed radix, whose digits are the coordinates in the layout's
// order, the fastest varying first. Groups of collectives follow from it: ranks that agree in all other coordinates.
#include "fabricast/workload/parallel.hpp"

#include <algorithm>
#include <map>

namespace fabricast {

int ParallelLayout::size(Dimension d) const {
  switch (d) {
    case Dimension::tensor: return tensor;
    case Dimension::context: return context;
    case Dimension::data: return data;
    case Dimension::pipeline: return pipeline;
  }
  return 1;
}

std::array<int, 4> ParallelLayout::coordinates(std::int64_t rank) const {
  std::array<int, 4> c{};
  for (const Dimension d : order) {
    c.at(static_cast<std::size_t>(d)) = static_cast<int>(rank % size(d));
    rank /= size(d);
  }
  return c;
}

std::int64_t ParallelLayout::rank(const std::array<int, 4>& c) const {
  std::int64_t rank = 0;
  for (auto d = order.rbegin(); d != order.rend(); ++d) rank = rank * size(*d) + c.at(static_cast<std::size_t>(*d));
  return rank;
}

namespace {

/// Calls use(rank, coordinates) for the ranks of a pipeline stage in ascending order.
// A stage holds runs of consecutive ranks: all dimensions before the pipeline vary inside a run, those after it from
// run to run. Only these ranks are visited, which matters for a million of them.
template <class Use>
void for_each_rank(const ParallelLayout& layout, int stage, Use use) {
  std::int64_t below = 1;  // number of consecutive ranks of a stage
  for (auto d = layout.order.begin(); *d != Dimension::pipeline; ++d) below *= layout.size(*d);
  for (std::int64_t first = stage * below; first < layout.ranks(); first += below * layout.pipeline)
    for (std::int64_t r = first; r < first + below; ++r) use(r, layout.coordinates(r));
}

}  // namespace

RankGroups groups_of(const ParallelLayout& layout, int stage, const std::vector<Dimension>& dimensions) {
  RankGroups groups;
  std::map<std::int64_t, std::size_t> group_of;  // by the rank whose coordinates in `dimensions` are 0
  for_each_rank(layout, stage, [&](std::int64_t r, std::array<int, 4> c) {
    for (const Dimension d : dimensions) c.at(static_cast<std::size_t>(d)) = 0;
    const auto [it, fresh] = group_of.try_emplace(layout.rank(c), groups.size());
    if (fresh) groups.emplace_back();
    groups[it->second].push_back(static_cast<std::uint32_t>(r));
  });
  return groups;
}

RankGroups split_neighbours(const RankGroups& groups, int size) {
  const auto n = static_cast<std::size_t>(size);
  RankGroups parts;
  for (const auto& group : groups)
    for (std::size_t first = 0; first < group.size(); first += n)
      parts.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(first),
                         group.begin() + static_cast<std::ptrdiff_t>(std::min(group.size(), first + n)));
  return parts;
}

RankGroups split_apart(const RankGroups& groups, int size) {
  const auto n = static_cast<std::size_t>(size);
  RankGroups parts;
  for (const auto& group : groups) {
    // Members at equal distances: the complement of split_neighbours, so that each part has one member of each
    // neighbourhood.
    const std::size_t stride = group.size() / n;
    for (std::size_t first = 0; first < stride; ++first) {
      parts.emplace_back();
      for (std::size_t i = first; i < group.size(); i += stride) parts.back().push_back(group[i]);
    }
  }
  return parts;
}

RankGroups expert_groups(const ParallelLayout& layout, int stage) {
  // If tensor parallelism splits experts, a tensor group acts as one holder; otherwise each of its ranks holds experts
  // of its own.
  const std::vector<Dimension> dimensions = layout.expert_tensor > 1
                                                ? std::vector{Dimension::context, Dimension::data}
                                                : std::vector{Dimension::tensor, Dimension::context, Dimension::data};
  return split_neighbours(groups_of(layout, stage, dimensions), layout.expert);
}

int domains_of(const RankGroups& groups, int nvlink_ranks) {
  const auto alone = static_cast<int>(groups.front().size());
  int domains = 0;
  for (const auto& group : groups) {
    std::vector<int> held;  // members by domain, in the order of the group
    // Members of a group are in ascending order, so a domain is left only once.
    std::uint32_t last = 0;
    for (const std::uint32_t rank : group) {
      const std::uint32_t domain = rank / static_cast<std::uint32_t>(nvlink_ranks);
      if (held.empty() || domain != last) held.push_back(0);
      ++held.back();
      last = domain;
    }
    // Two levels of dispatch need equal parts in all domains. Otherwise tokens are dispatched as if every rank were
    // alone.
    if (std::any_of(held.begin(), held.end(), [&](int n) { return n != held.front(); })) return alone;
    const auto spanned = static_cast<int>(held.size());
    if (domains == 0) domains = spanned;
    if (domains != spanned) return alone;
  }
  return domains;
}

RankGroups stage_pairs(const ParallelLayout& layout, int from, int to) {
  RankGroups pairs;
  for_each_rank(layout, from, [&](std::int64_t r, std::array<int, 4> c) {
    c.at(static_cast<std::size_t>(Dimension::pipeline)) = to;
    pairs.push_back({static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(layout.rank(c))});
  });
  return pairs;
}

}  // namespace fabricast
