// How much of the traffic takes detours if switches choose by load (detours.hpp).
//
// Let F_p be the flows of a pair of switches p, a_lp their shares of link l on minimal paths, b_lp those on detours, each
// in equal parts, and C_l the rates of links. With the parts x_p of their flows on detours, link l is busy for
//
//   u_l(x) = sum over p of  F_p ( (1 - x_p) a_lp + x_p b_lp ) / C_l                                                 (1)
//
// A switch compares the queue of the minimal path with that of a detour, each times its hops [Kim2008]. Queues grow
// where u is largest, so what lasts is
//
//   x = argmin  max over l of u_l(x),     x = 0 where u_l(0) is at most that of NIC ports                           (2)
//
// (2) is a linear program. It is solved by steps of Frank and Wolfe [FrankWolfe1956] on the sum of u^p, whose gradient
// prices links. All pairs whose detours are cheaper than their minimal paths move towards them, the others back, by the
// step that makes the largest u least. A small price for each hop keeps flows minimal where loads do not matter. Steps end
// where NIC ports are the bottleneck.
//
// The cost of a step grows with the pairs of switches and their next hops, whatever the number of detours: both (1) and the
// prices of detours are sums over all switches less those over two groups (detour_sums.hpp).
//
// Not modelled: that switches see their own queues only and choose for single packets, so that real systems detour more
// than (2) under light load and less in bursts.
#include <algorithm>
#include <cmath>

#include "detour_sums.hpp"
#include "path_table.hpp"

namespace fabricast {

namespace {

double most_busy(const std::vector<double>& busy) { return *std::max_element(busy.begin(), busy.end()); }

class ByLoad {
 public:
  ByLoad(const GraphPaths& paths, const Detours& detours, std::span<const SwitchFlows> pairs,
         const std::vector<double>& capacity)
      : n_(paths.switches()), pairs_(pairs), capacity_(capacity), table_(paths), sums_(paths, detours) {}

  /// \param busy  (1) with x = 0
  std::optional<DetourParts> solve(std::vector<double> busy, double port) {
    std::vector<double> x(pairs_.size(), 0), toward(x);
    const double alone = most_busy(busy);
    double now = alone;
    constexpr int most_steps = 64;
    for (int step = 0; step < most_steps; ++step) {
      direction(busy, now, toward);
      const std::vector<double> there = busy_with(toward);
      const double by = step_towards(busy, there, port);
      if (by <= 0) break;
      for (std::size_t p = 0; p < x.size(); ++p) x[p] += by * (toward[p] - x[p]);
      for (std::size_t l = 0; l < busy.size(); ++l) busy[l] += by * (there[l] - busy[l]);
      const double before = now;
      now = most_busy(busy);
      if (now <= port * (1 + 1e-6) || now > before * (1 - 1e-4)) break;
    }
    if (now > alone * (1 - 1e-3)) return {};
    std::vector<double> by_pair(std::size_t{n_} * n_, 0);
    for (std::size_t p = 0; p < x.size(); ++p) by_pair[std::size_t{pairs_[p].to} * n_ + pairs_[p].from] = x[p];
    return DetourParts(n_, std::move(by_pair));
  }

 private:
  /// (1), in s/B.
  std::vector<double> busy_with(const std::vector<double>& x) {
    sums_.halves(pairs_, x, matrix_);
    std::vector<double> busy(capacity_.size(), 0);
    table_.spread(matrix_, busy);
    for (std::size_t l = 0; l < busy.size(); ++l)
      if (busy[l] > 0) busy[l] /= capacity_[l];
    return busy;
  }

  /// 1 for pairs whose detours cost less than their minimal paths, otherwise 0.
  void direction(const std::vector<double>& busy, double largest, std::vector<double>& toward) {
    constexpr double power = 32, hop = 1e-3;
    std::vector<double> price(busy.size());
    for (std::size_t l = 0; l < busy.size(); ++l)
      price[l] = capacity_[l] > 0 ? (std::pow(busy[l] / largest, power) + hop) / capacity_[l] : 0;
    table_.costs(price, matrix_);
    const std::vector<double> detours = sums_.mean_costs(pairs_, matrix_);
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      toward[p] = detours[p] < matrix_[std::size_t{pairs_[p].to} * n_ + pairs_[p].from];
  }

  /// The step that makes the largest u least, or the shortest after which NIC ports are the bottleneck. The largest u is
  /// a convex function of the step.
  static double step_towards(const std::vector<double>& busy, const std::vector<double>& there, double port) {
    // Whatever the step, the largest is at least `least`, so links that stay below never are.
    double least = 0;
    for (std::size_t l = 0; l < busy.size(); ++l) least = std::max(least, std::min(busy[l], there[l]));
    std::vector<std::pair<double, double>> links;  // now, and how much it grows
    for (std::size_t l = 0; l < busy.size(); ++l)
      if (std::max(busy[l], there[l]) >= least) links.emplace_back(busy[l], there[l] - busy[l]);
    const auto after = [&](double step) {
      double largest = 0;
      for (const auto& [now, growth] : links) largest = std::max(largest, now + step * growth);
      return largest;
    };
    double low = 0, high = 1;
    while (high - low > 1e-7) {
      const double third = (high - low) / 3;
      if (after(low + third) <= after(high - third))
        high -= third;
      else
        low += third;
    }
    double best = (low + high) / 2;
    if (after(1) <= after(best)) best = 1;
    if (after(best) >= after(0)) return 0;
    if (after(best) > port) return best;
    for (low = 0, high = best; high - low > 1e-7;) {
      const double half = (low + high) / 2;
      (after(half) <= port ? high : low) = half;
    }
    return high;
  }

  std::uint32_t n_;
  std::span<const SwitchFlows> pairs_;
  const std::vector<double>& capacity_;  ///< B/s, by link
  PathTable table_;
  DetourSums sums_;
  std::vector<double> matrix_;  ///< by second switch, then by first: flows, or costs
};

}  // namespace

std::unique_ptr<Router> DetourRouter::under_load(std::span<const SwitchFlows> pairs, double port) const {
  if (!by_load_) return nullptr;
  std::optional<DetourParts> parts = detours_by_load(paths_, detours_, pairs, port);
  return parts ? with_parts(std::move(*parts)) : nullptr;
}

std::optional<DetourParts> detours_by_load(const GraphPaths& paths, const Detours& detours,
                                           std::span<const SwitchFlows> pairs, double port) {
  const Fabric& fabric = paths.fabric();
  std::vector<double> capacity(fabric.links()), busy(fabric.links(), 0);
  for (std::uint32_t l = 0; l < capacity.size(); ++l)
    capacity[l] = fabric.link_class(LinkId(l)).rate.value * paths.state().factor(l);
  // Flows without a path wait, or are refused where they are routed.
  const auto counts = [&](const SwitchFlows& pair) {
    return pair.flows > 0 && paths.distance(pair.from, pair.to) != GraphPaths::far;
  };
  std::vector<SwitchFlows> kept;
  if (!std::all_of(pairs.begin(), pairs.end(), counts)) {
    std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(kept), counts);
    pairs = kept;
  }
  if (pairs.empty()) return {};
  paths.part(pairs, EvenSplit(), [&](std::uint32_t link, double flows) { busy[link] += flows / capacity[link]; });
  if (most_busy(busy) <= port * (1 + 1e-9)) return {};
  return ByLoad(paths, detours, pairs, capacity).solve(std::move(busy), port);
}

}  // namespace fabricast
