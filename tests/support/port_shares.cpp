#include "support/port_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace fabricast::test {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// A flow at a place of its way.
struct Crossing {
  std::size_t flow = 0, place = 0;
};

class PortShares {
 public:
  PortShares(const std::vector<std::vector<std::uint32_t>>& ways, const std::vector<double>& capacity)
      : ways_(ways), capacity_(capacity), rate_(ways.size(), no_limit), held_(ways.size(), no_limit) {
    for (std::size_t f = 0; f < ways.size(); ++f) {
      weight_.emplace_back(ways[f].size(), 0);
      offer_.emplace_back(ways[f].size(), no_limit);
      for (std::size_t k = 0; k < ways[f].size(); ++k) crossings_[ways[f][k]].push_back({f, k});
    }
    for (const auto& [link, crossings] : crossings_) weigh(link);
  }

  std::vector<double> run() {
    for (int round = 0; round < 200; ++round) {
      const std::vector<double> before = rate_;
      for (const auto& [link, crossings] : crossings_) offer(link, crossings);
      for (std::size_t f = 0; f < ways_.size(); ++f) rate_[f] = std::min(held_[f], least_offer(f));
      hold_back();
      bool changed = false;
      for (std::size_t f = 0; f < ways_.size(); ++f) {
        rate_[f] = std::min(rate_[f], held_[f]);
        changed |= !(std::abs(rate_[f] - before[f]) < 1e-4 * before[f]);
      }
      if (!changed) break;
    }
    return rate_;
  }

 private:
  /// (1), of the links before first.
  void weigh(std::uint32_t link) {
    const auto& crossings = crossings_.at(link);
    if (weight_[crossings.front().flow][crossings.front().place] > 0) return;
    std::map<std::uint32_t, double> by_port;
    double begins = 0;
    for (const auto& [f, k] : crossings)
      if (k == 0)
        ++begins;
      else
        weigh(ways_[f][k - 1]), by_port[ways_[f][k - 1]] += weight_[f][k - 1];
    const double ports = static_cast<double>(by_port.size()) + (begins > 0 ? 1 : 0);
    for (const auto& [f, k] : crossings)
      weight_[f][k] = (k == 0 ? 1 / begins : weight_[f][k - 1] / by_port.at(ways_[f][k - 1])) / ports;
  }

  double least_offer(std::size_t f) const { return *std::min_element(offer_[f].begin(), offer_[f].end()); }

  /// Divides a link among its flows, those that other links hold lowest first.
  void offer(std::uint32_t link, std::vector<Crossing> crossings) {
    const auto demand = [&](const Crossing& c) {
      double least = held_[c.flow];
      for (std::size_t k = 0; k < offer_[c.flow].size(); ++k)
        if (k != c.place) least = std::min(least, offer_[c.flow][k]);
      return least;
    };
    const auto weight = [&](const Crossing& c) { return weight_[c.flow][c.place]; };
    std::sort(crossings.begin(), crossings.end(), [&](const Crossing& a, const Crossing& b) {
      const double x = demand(a) / weight(a), y = demand(b) / weight(b);
      return x != y ? x < y : a.flow < b.flow;
    });
    double left = capacity_[link], weights = 0;
    for (const Crossing& c : crossings) weights += weight(c);
    for (const Crossing& c : crossings) {
      const double fair = std::max(0.0, left) * weight(c) / std::max(weights, weight(c));
      const double wanted = demand(c);
      offer_[c.flow][c.place] = fair;
      left -= std::min(wanted, fair), weights -= weight(c);
    }
  }

  /// (2), spread from flow to flow.
  void hold_back() {
    std::vector<double> held(ways_.size(), no_limit);
    std::vector<std::size_t> waits(ways_.size());
    for (std::size_t f = 0; f < ways_.size(); ++f)
      for (std::size_t k = 0; k < ways_[f].size(); ++k)
        if (offer_[f][k] <= offer_[f][waits[f]]) waits[f] = k;
    const auto rate = [&](std::size_t f) { return std::min(rate_[f], held[f]); };
    for (int spread = 0; spread < 6; ++spread)
      for (std::size_t f = 0; f < ways_.size(); ++f)
        for (std::size_t k = 0; k < waits[f]; ++k)
          for (const auto& [g, place] : crossings_.at(ways_[f][k])) {
            const double limit = rate(f) * weight_[g][place] / weight_[f][k];
            if (g == f || limit >= rate(g) * (1 - 1e-6)) continue;
            held[g] = limit, waits[g] = std::max(waits[g], place);
          }
    held_ = held;
  }

  const std::vector<std::vector<std::uint32_t>>& ways_;
  const std::vector<double>& capacity_;
  std::map<std::uint32_t, std::vector<Crossing>> crossings_;  ///< by link
  std::vector<std::vector<double>> weight_, offer_;           ///< by flow and place
  std::vector<double> rate_, held_;                           ///< by flow
};

}  // namespace

std::vector<double> port_shares(const std::vector<std::vector<std::uint32_t>>& ways,
                                const std::vector<double>& capacity) {
  return PortShares(ways, capacity).run();
}

}  // namespace fabricast::test
