// (1) and (2) of fabricast/engine/port_shares.hpp, in turn until rates stay. Each link offers a flow its weighted share
// of what the flows leave that other links, or (2), hold lower. A flow gets its least offer.
#include "fabricast/engine/port_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr int most_rounds = 200;
/// Relative change of a rate in a round at which repetition stops, and at which rates count as settled.
constexpr double stops = 1e-4, settles = 0.05;
/// How many flows further (2) reaches in a round: a queue may hold back a queue that holds back another.
constexpr int spreads = 6;

class PortSharing {
 public:
  explicit PortSharing(const PortProblem& problem)
      : problem_(problem),
        crossings_(problem.capacity.size()),
        weight_(problem.link.size(), 0),
        offer_(problem.link.size(), no_limit),
        rate_(problem.cap),
        held_(problem.cap.size(), no_limit) {
    for (std::uint32_t f = 0; f < flows(); ++f)
      for (std::uint32_t k = problem.first[f]; k < problem.first[f + 1]; ++k)
        crossings_[problem.link[k]].push_back({f, k});
    for (std::uint32_t l = 0; l < crossings_.size(); ++l)
      if (!crossings_[l].empty()) weigh(l);
  }

  PortShares run() {
    double change = no_limit;
    for (int round = 0; change > stops && round < most_rounds; ++round) {
      const std::vector<double> before = rate_;
      for (std::uint32_t l = 0; l < crossings_.size(); ++l) offer(l);
      for (std::uint32_t f = 0; f < flows(); ++f) rate_[f] = std::min({problem_.cap[f], held_[f], least_offer(f)});
      hold_back();
      change = 0;
      for (std::uint32_t f = 0; f < flows(); ++f) {
        rate_[f] = std::min(rate_[f], held_[f]);
        // A rate that falls to nothing never settles.
        change = std::max(change, rate_[f] > 0 ? std::abs(before[f] / rate_[f] - 1) : no_limit);
      }
    }
    return {std::move(rate_), change <= settles};
  }

 private:
  /// A flow at a place of its path.
  struct Crossing {
    std::uint32_t flow = 0, place = 0;  ///< place: in PortProblem::link
  };

  std::uint32_t flows() const { return static_cast<std::uint32_t>(problem_.cap.size()); }
  bool begins(const Crossing& c) const { return c.place == problem_.first[c.flow]; }

  /// (1), of the links before first. Ways that go round in a circle begin where they are met again.
  void weigh(std::uint32_t link) {
    const std::vector<Crossing>& crossings = crossings_[link];
    if (weight_[crossings.front().place] != 0) return;
    for (const Crossing& c : crossings) weight_[c.place] = -1;
    std::map<std::uint32_t, double> by_port;
    double here = 0;
    for (const Crossing& c : crossings) {
      if (!begins(c)) weigh(problem_.link[c.place - 1]);
      if (begins(c) || weight_[c.place - 1] < 0)
        ++here;
      else
        by_port[problem_.link[c.place - 1]] += weight_[c.place - 1];
    }
    const double ports = static_cast<double>(by_port.size()) + (here > 0 ? 1 : 0);
    for (const Crossing& c : crossings) {
      const bool own = begins(c) || weight_[c.place - 1] < 0;
      weight_[c.place] = (own ? 1 / here : weight_[c.place - 1] / by_port.at(problem_.link[c.place - 1])) / ports;
    }
  }

  double least_offer(std::uint32_t f) const {
    return *std::min_element(offer_.begin() + problem_.first[f], offer_.begin() + problem_.first[f + 1]);
  }

  /// What a flow could use of a link: the least of its other limits.
  double demand(const Crossing& c) const {
    double least = std::min(held_[c.flow], problem_.cap[c.flow]);
    for (std::uint32_t k = problem_.first[c.flow]; k < problem_.first[c.flow + 1]; ++k)
      if (k != c.place) least = std::min(least, offer_[k]);
    return least;
  }

  /// Divides a link among its flows, those that other links hold lowest first.
  void offer(std::uint32_t link) {
    struct Wish {
      double demand, weight;
      Crossing of;
    };
    std::vector<Wish> wishes;
    double left = problem_.capacity[link], weights = 0;
    for (const Crossing& c : crossings_[link]) {
      wishes.push_back({demand(c), weight_[c.place], c});
      weights += weight_[c.place];
    }
    std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) {
      const double x = a.demand / a.weight, y = b.demand / b.weight;
      return x != y ? x < y : a.of.flow < b.of.flow;
    });
    for (const Wish& wish : wishes) {
      const double fair = std::max(0.0, left) * wish.weight / std::max(weights, wish.weight);
      offer_[wish.of.place] = fair;
      left -= std::min(wish.demand, fair);
      weights -= wish.weight;
    }
  }

  /// The place at which a flow waits: its least offer, the last of equal ones.
  std::uint32_t waits_at(std::uint32_t f) const {
    std::uint32_t at = problem_.first[f];
    for (std::uint32_t k = problem_.first[f]; k < problem_.first[f + 1]; ++k)
      if (offer_[k] <= offer_[at]) at = k;
    // A flow that sends less than it is offered waits nowhere.
    return problem_.cap[f] < offer_[at] ? problem_.first[f] : at;
  }

  /// (2), spread from flow to flow.
  void hold_back() {
    std::vector<double> held(flows(), no_limit);
    std::vector<std::uint32_t> waits(flows());
    for (std::uint32_t f = 0; f < flows(); ++f) waits[f] = waits_at(f);
    const auto rate = [&](std::uint32_t f) { return std::min(rate_[f], held[f]); };
    for (int spread = 0; spread < spreads; ++spread)
      for (std::uint32_t f = 0; f < flows(); ++f)
        for (std::uint32_t k = problem_.first[f]; k < waits[f]; ++k)
          for (const Crossing& c : crossings_[problem_.link[k]]) {
            const double limit = rate(f) * weight_[c.place] / weight_[k];
            if (c.flow == f || limit >= rate(c.flow) * (1 - 1e-6)) continue;
            held[c.flow] = limit;
            waits[c.flow] = std::max(waits[c.flow], c.place);
          }
    // Halfway between the rounds, as times per byte: two queues that hold back each other would take turns for ever.
    for (std::uint32_t f = 0; f < flows(); ++f) held_[f] = 2 / (1 / held_[f] + 1 / held[f]);
  }

  const PortProblem& problem_;
  std::vector<std::vector<Crossing>> crossings_;  ///< by link
  std::vector<double> weight_, offer_;            ///< by place
  std::vector<double> rate_, held_;               ///< by flow
};

}  // namespace

PortShares share_by_port(const PortProblem& problem) {
  FABRICAST_CHECK(problem.first.size() == problem.cap.size() + 1 && problem.first.back() == problem.link.size(),
                  "paths end at the end of the list of links");
  return PortSharing(problem).run();
}

}  // namespace fabricast
