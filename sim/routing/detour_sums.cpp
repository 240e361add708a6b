// (1) of detour_sums.hpp. A flow on a detour is two flows on minimal paths: to the switch in between, and from it.
#include "detour_sums.hpp"

#include <algorithm>
#include <limits>

namespace fabricast {

namespace {

/// Of the given switches, most of which reach each other, those that do.
std::vector<std::uint32_t> joined_switches(const GraphPaths& paths, std::span<const std::uint32_t> with_nics) {
  std::vector<std::uint32_t> joined(with_nics.begin(), with_nics.end());
  if (!paths.state().any_down()) return joined;
  for (const std::uint32_t one : with_nics) {
    joined.clear();
    for (const std::uint32_t s : with_nics)
      if (paths.distance(one, s) != GraphPaths::far && paths.distance(s, one) != GraphPaths::far) joined.push_back(s);
    if (2 * joined.size() > with_nics.size()) return joined;
  }
  return {};
}

}  // namespace

DetourSums::DetourSums(const GraphPaths& paths, const Detours& detours)
    : detours_(detours), n_(paths.switches()), joined_(n_, false) {
  for (std::uint32_t s = 0; s < n_; ++s) {
    group_.push_back(paths.group_of(s));
    groups_ = std::max(groups_, group_[s] + 1);
  }
  members_.resize(groups_);
  for (const std::uint32_t s : joined_switches(paths, detours.with_nics())) {
    members_[group_[s]].push_back(s);
    joined_[s] = true;
    ++all_;
  }
  for (const std::vector<std::uint32_t>& members : members_)
    complete_.push_back(std::all_of(members.begin(), members.end(), [&](std::uint32_t a) {
      return std::all_of(members.begin(), members.end(),
                         [&](std::uint32_t b) { return a == b || paths.distance(a, b) == 1; });
    }));
}

bool DetourSums::are_joined(std::uint32_t a, std::uint32_t b) const { return joined_[a] && joined_[b]; }

DetourSums::Over DetourSums::over(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return Over::none;
  if (group_[from] != group_[to]) return are_joined(from, to) ? Over::third_groups : Over::listed;
  return are_joined(from, to) && complete_[group_[from]] ? Over::third_switches : Over::listed;
}

template <class Use>
void DetourSums::for_each_listed(std::uint32_t from, std::uint32_t to, Use use) const {
  for (const std::uint32_t v : detours_.among(from, to))
    if (detours_.suits(from, v, to)) use(v);
}

double DetourSums::count(std::uint32_t from, std::uint32_t to) const {
  double listed = 0;
  switch (over(from, to)) {
    case Over::none: return 0;
    case Over::third_groups:
      return static_cast<double>(all_ - members_[group_[from]].size() - members_[group_[to]].size());
    case Over::third_switches: return static_cast<double>(members_[group_[from]].size() - 2);
    case Over::listed: for_each_listed(from, to, [&](std::uint32_t) { ++listed; });
  }
  return listed;
}

void DetourSums::halves(std::span<const SwitchFlows> pairs, std::span<const double> part,
                        std::vector<double>& flows) const {
  flows.assign(std::size_t{n_} * n_, 0);
  // What each switch sends to, and gets from, every switch in between: all of it, and by group at the other end.
  std::vector<double> out(n_, 0), in(n_, 0), out_to(std::size_t{groups_} * n_, 0), in_from(out_to);
  std::vector<double> out_inside(n_, 0), in_inside(n_, 0);
  bool across = false, inside = false;
  std::vector<double> each(pairs.size(), 0);  // by pair: flows over each switch in between
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    if (part[p] == 0) continue;
    const std::uint32_t from = pairs[p].from, to = pairs[p].to;
    const double switches = count(from, to);
    if (switches == 0) continue;
    each[p] = static_cast<double>(pairs[p].flows) * part[p] / switches;
    const Over way = over(from, to);
    if (way == Over::third_groups) {
      across = true;
      out_to[std::size_t{group_[to]} * n_ + from] += each[p];
      in_from[std::size_t{to} * groups_ + group_[from]] += each[p];
    } else if (way == Over::third_switches) {
      inside = true;
      out_inside[from] += each[p];
      in_inside[to] += each[p];
    } else {
      for_each_listed(from, to, [&](std::uint32_t v) {
        flows[at(v, from)] += each[p];
        flows[at(to, v)] += each[p];
      });
    }
  }
  for (std::uint32_t g = 0; g < groups_; ++g) {
    for (std::uint32_t s = 0; s < n_; ++s) {
      out[s] += out_to[std::size_t{g} * n_ + s];
      in[s] += in_from[std::size_t{s} * groups_ + g];
    }
  }
  // Each loop writes the switches of a row one after the other.
  for (std::uint32_t g = 0; across && g < groups_; ++g)
    for (const std::uint32_t v : members_[g])
      for (std::uint32_t s = 0; s < n_; ++s)
        if (group_[s] != g) flows[at(v, s)] += std::max(0.0, out[s] - out_to[std::size_t{g} * n_ + s]);
  for (std::uint32_t s = 0; across && s < n_; ++s)
    for (std::uint32_t g = 0; in[s] > 0 && g < groups_; ++g)
      for (const std::uint32_t v : members_[g])
        if (group_[s] != g) flows[at(s, v)] += std::max(0.0, in[s] - in_from[std::size_t{s} * groups_ + g]);
  for (const std::vector<std::uint32_t>& members : members_)
    for (const std::uint32_t v : members)
      for (const std::uint32_t s : members)
        if (inside && s != v) flows[at(v, s)] += out_inside[s] + in_inside[v];
  // Inside a group the sums include the two ends themselves, of which neither is in between.
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [from, to, all] = pairs[p];
    double& here = flows[at(to, from)];
    if (each[p] > 0 && over(from, to) == Over::third_switches) here = std::max(0.0, here - 2 * each[p]);
  }
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [from, to, all] = pairs[p];
    flows[at(to, from)] += static_cast<double>(all) * (each[p] > 0 ? 1 - part[p] : 1);
  }
}

std::vector<double> DetourSums::mean_costs(std::span<const SwitchFlows> pairs, std::span<const double> costs) const {
  // To, and from, all switches that may be in between: all groups together, and by group.
  std::vector<double> out(n_, 0), in(n_, 0), out_to(std::size_t{groups_} * n_, 0), in_from(out_to);
  for (std::uint32_t g = 0; g < groups_; ++g)
    for (const std::uint32_t v : members_[g])
      for (std::uint32_t s = 0; s < n_; ++s) {
        out[s] += costs[at(v, s)];
        out_to[std::size_t{g} * n_ + s] += costs[at(v, s)];
      }
  for (std::uint32_t s = 0; s < n_; ++s)
    for (std::uint32_t v = 0; v < n_; ++v)
      if (joined_[v]) {
        in[s] += costs[at(s, v)];
        in_from[std::size_t{s} * groups_ + group_[v]] += costs[at(s, v)];
      }
  std::vector<double> mean(pairs.size(), std::numeric_limits<double>::infinity());
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const std::uint32_t from = pairs[p].from, to = pairs[p].to;
    const double switches = count(from, to);
    if (switches == 0) continue;
    const std::uint32_t a = group_[from], b = group_[to];
    const double* const in_of = in_from.data() + std::size_t{to} * groups_;
    const auto out_of = [&](std::uint32_t g) { return out_to[std::size_t{g} * n_ + from]; };
    double sum = 0;
    switch (over(from, to)) {
      case Over::third_groups: sum = out[from] - out_of(a) - out_of(b) + in[to] - in_of[a] - in_of[b]; break;
      case Over::third_switches: sum = out_of(a) + in_of[a] - 2 * costs[at(to, from)]; break;
      default: for_each_listed(from, to, [&](std::uint32_t v) { sum += costs[at(v, from)] + costs[at(to, v)]; });
    }
    mean[p] = sum / switches;
  }
  return mean;
}

}  // namespace fabricast
