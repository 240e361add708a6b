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
// Not modelled: that switches see their own queues only and choose for single packets, so that real systems detour more
// than (2) under light load and less in bursts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "detours.hpp"

namespace fabricast {

namespace {

/// Flows between two switches, in parts.
struct PairPart {
  std::uint32_t from, to;
  double flows;
};

class ByLoad {
 public:
  ByLoad(const GraphPaths& paths, const Detours& detours, std::span<const SwitchFlows> pairs)
      : paths_(paths), n_(paths.switches()), capacity_(paths.fabric().links()) {
    for (std::uint32_t l = 0; l < capacity_.size(); ++l)
      capacity_[l] = paths.fabric().link_class(LinkId(l)).rate.value * paths.state().factor(l);
    for (const SwitchFlows& pair : pairs) {
      // Flows without a path wait, or are refused where they are routed.
      if (pair.flows == 0 || paths.distance(pair.from, pair.to) == GraphPaths::far) continue;
      pairs_.push_back({pair.from, pair.to, static_cast<double>(pair.flows)});
      std::vector<std::uint16_t>& over = over_.emplace_back();
      for (const std::uint32_t v : detours.among(pair.from, pair.to))
        if (detours.suits(pair.from, v, pair.to)) over.push_back(static_cast<std::uint16_t>(v));
    }
  }

  std::optional<DetourParts> solve(double port) const {
    std::vector<double> x(pairs_.size(), 0), busy = busy_with(x), toward(x);
    const double alone = most(busy);
    if (alone <= port * (1 + 1e-9)) return {};
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
      now = most(busy);
      if (now <= port * (1 + 1e-6) || now > before * (1 - 1e-4)) break;
    }
    if (now > alone * (1 - 1e-3)) return {};
    std::vector<double> by_pair(std::size_t{n_} * n_, 0);
    for (std::size_t p = 0; p < x.size(); ++p) by_pair[std::size_t{pairs_[p].to} * n_ + pairs_[p].from] = x[p];
    return DetourParts(n_, std::move(by_pair));
  }

 private:
  static double most(const std::vector<double>& busy) { return *std::max_element(busy.begin(), busy.end()); }

  /// (1), in s/B.
  std::vector<double> busy_with(const std::vector<double>& x) const {
    std::vector<double> halves(std::size_t{n_} * n_, 0);  // by second end, then by first
    for (std::size_t p = 0; p < x.size(); ++p) {
      const PairPart& pair = pairs_[p];
      halves[std::size_t{pair.to} * n_ + pair.from] += pair.flows * (1 - x[p]);
      for (const std::size_t v : over_[p]) {
        const double part = pair.flows * x[p] / static_cast<double>(over_[p].size());
        halves[v * n_ + pair.from] += part;
        halves[std::size_t{pair.to} * n_ + v] += part;
      }
    }
    std::vector<PairPart> list;
    for (std::size_t i = 0; i < halves.size(); ++i)
      if (halves[i] > 0)
        list.push_back({static_cast<std::uint32_t>(i % n_), static_cast<std::uint32_t>(i / n_), halves[i]});
    std::vector<double> busy(capacity_.size(), 0);
    paths_.part(std::span<const PairPart>(list), EvenSplit(),
                [&](std::uint32_t link, double flows) { busy[link] += flows / capacity_[link]; });
    return busy;
  }

  /// 1 for pairs whose detours cost less than their minimal paths, otherwise 0.
  void direction(const std::vector<double>& busy, double largest, std::vector<double>& toward) const {
    constexpr double power = 32, hop = 1e-3;
    std::vector<double> price(busy.size()), column;
    for (std::size_t l = 0; l < busy.size(); ++l)
      price[l] = capacity_[l] > 0 ? (std::pow(busy[l] / largest, power) + hop) / capacity_[l] : 0;
    std::vector<double> cost(std::size_t{n_} * n_);  // by destination, then by source
    for (std::uint32_t to = 0; to < n_; ++to) {
      paths_.costs_to(to, price, column);
      std::copy(column.begin(), column.end(), cost.begin() + std::ptrdiff_t{to} * n_);
    }
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const auto [from, to, flows] = pairs_[p];
      double detours = 0;
      for (const std::size_t v : over_[p]) detours += cost[v * n_ + from] + cost[std::size_t{to} * n_ + v];
      toward[p] =
          !over_[p].empty() && detours < cost[std::size_t{to} * n_ + from] * static_cast<double>(over_[p].size());
    }
  }

  /// The step that makes the largest u least, or the shortest after which NIC ports are the bottleneck. The largest u is
  /// a convex function of the step.
  static double step_towards(const std::vector<double>& busy, const std::vector<double>& there, double port) {
    const auto after = [&](double step) {
      double largest = 0;
      for (std::size_t l = 0; l < busy.size(); ++l) largest = std::max(largest, busy[l] + step * (there[l] - busy[l]));
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

  const GraphPaths& paths_;
  std::uint32_t n_;
  std::vector<double> capacity_;  ///< B/s, by link
  std::vector<PairPart> pairs_;
  std::vector<std::vector<std::uint16_t>> over_;  ///< by pair: switches that suit
};

}  // namespace

std::optional<DetourParts> detours_by_load(const GraphPaths& paths, const Detours& detours,
                                           std::span<const SwitchFlows> pairs, double port) {
  return pairs.empty() ? std::nullopt : ByLoad(paths, detours, pairs).solve(port);
}

}  // namespace fabricast
