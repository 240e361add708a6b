// (1) and (2) of fabricast/engine/class_shares.hpp by repeated offers. In a round every link in turn computes
//
//   d_i   what item i can use of it:      min( cap_i, least offer of its other links )
//   D_k   = sum_i m_i d_i                 over the items of class k
//   F_k   the offer to class k, by (1):   classes in ascending order of D_k / v_k, each offered its part of what is left
//   o_i   the offer to item i:            items of k in ascending order of d_i / w_i, each offered its part of F_k
//
// An item that takes less than its part leaves the rest to those after it, as in water filling. On one link a round is
// exact. On several, offers settle in the order in which links would limit their items.
#include "fabricast/engine/class_shares.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

constexpr double any_rate = std::numeric_limits<double>::infinity();
/// Relative change of all rates in a round at which repetition ends; rounds at most, and without taking means.
constexpr double settled_rate = 1e-12;
constexpr int rounds_at_most = 200, rounds_without_means = 40;
/// Fraction of what it is offered that a strict class leaves to those after it.
constexpr double never_strict = 1e-3;

class ClassSharing {
 public:
  explicit ClassSharing(const ClassProblem& problem)
      : problem_(problem),
        items_(problem.items),
        classes_(problem.strict.size()),
        by_link_(items_.capacity.size()),
        offer_(items_.link.size(), any_rate),
        rate_(items_.weight.size(), any_rate) {
    for (std::uint32_t i = 0; i < items_.weight.size(); ++i)
      for (std::uint32_t k = items_.first[i]; k < items_.first[i + 1]; ++k) by_link_[items_.link[k]].push_back({i, k});
  }

  Sharing run() {
    for (int round = 0; round < rounds_at_most; ++round) {
      means_ = round >= rounds_without_means;
      for (std::uint32_t l = 0; l < by_link_.size(); ++l)
        if (!by_link_[l].empty() && items_.capacity[l] < any_rate) offer(l);
      if (change_of_rates() <= settled_rate) break;
    }
    return filled();
  }

 private:
  /// An item at an entry of its path.
  struct Crossing {
    std::uint32_t item = 0, entry = 0;
  };
  struct Wish {
    double wanted = 0;  ///< rate of the item
    Crossing of;
  };

  /// The least of an item's cap and its offers. \param but  an entry whose offer does not count
  double least(std::uint32_t i, std::uint32_t but) const {
    double rate = items_.cap[i];
    for (std::uint32_t k = items_.first[i]; k < items_.first[i + 1]; ++k)
      if (k != but) rate = std::min(rate, offer_[k]);
    return rate;
  }

  void offer(std::uint32_t l) {
    std::vector<std::vector<Wish>> wishes(classes_);
    std::vector<double> wanted(classes_, 0);
    for (const Crossing& c : by_link_[l]) {
      const double wish = least(c.item, c.entry);
      wishes[problem_.in[c.item]].push_back({wish, c});
      wanted[problem_.in[c.item]] += items_.use[c.entry] * wish;
    }
    const auto weight = problem_.weight.begin() + static_cast<std::ptrdiff_t>(l * classes_);
    const std::vector<double> offers = offers_to_classes(
        items_.capacity[l], wanted, {weight, weight + static_cast<std::ptrdiff_t>(classes_)}, problem_.strict);
    for (std::size_t k = 0; k < classes_; ++k) offer_to_items(offers[k], wishes[k]);
  }

  /// Divides what a class is offered among its items, those that ask for the lowest level first.
  void offer_to_items(double left, std::vector<Wish>& wishes) {
    const auto level = [&](const Wish& w) { return w.wanted / items_.weight[w.of.item]; };
    std::sort(wishes.begin(), wishes.end(), [&](const Wish& a, const Wish& b) {
      const double x = level(a), y = level(b);
      return x != y ? x < y : a.of.entry < b.of.entry;
    });
    // From the end, so that the last sums are exact.
    std::vector<double> demand(wishes.size() + 1, 0);
    for (std::size_t n = wishes.size(); n-- > 0;)
      demand[n] = demand[n + 1] + items_.use[wishes[n].of.entry] * items_.weight[wishes[n].of.item];
    for (std::size_t n = 0; n < wishes.size(); ++n) {
      const auto [item, entry] = wishes[n].of;
      const double fair = std::max(0.0, left) / demand[n] * items_.weight[item];
      // Means settle links that answer each other in turn.
      offer_[entry] = means_ ? (offer_[entry] + fair) / 2 : fair;
      left -= items_.use[entry] * std::min(fair, wishes[n].wanted);
    }
  }

  /// The largest relative change of a rate since the last call.
  double change_of_rates() {
    double change = 0;
    for (std::uint32_t i = 0; i < rate_.size(); ++i) {
      const double rate = least(i, no_link);
      if (rate != rate_[i]) change = std::max(change, rate > 0 ? std::abs(rate_[i] / rate - 1) : any_rate);
      rate_[i] = rate;
    }
    return change;
  }

  /// Max-min shares with the offers as weights.
  Sharing filled() const {
    SharingProblem problem = items_;
    Sharing sharing;
    constexpr double least_weight = 1e-12;  // weights are above 0
    for (std::uint32_t i = 0; i < problem.weight.size(); ++i) {
      double rate = problem.cap[i];
      std::uint32_t at = no_link;
      for (std::uint32_t k = problem.first[i]; k < problem.first[i + 1]; ++k)
        if (offer_[k] < rate) rate = offer_[k], at = problem.link[k];
      problem.weight[i] = rate < any_rate ? std::max(rate, least_weight) : 1;
      sharing.bottleneck.push_back(at);
    }
    const Sharing found = fill(problem);
    for (std::uint32_t i = 0; i < problem.weight.size(); ++i)
      sharing.level.push_back(found.level[i] * problem.weight[i] / items_.weight[i]);
    return sharing;
  }

  const ClassProblem& problem_;
  const SharingProblem& items_;
  std::size_t classes_;
  std::vector<std::vector<Crossing>> by_link_;
  std::vector<double> offer_;  ///< by entry: rate that the link offers the item
  std::vector<double> rate_;   ///< by item, in the round before
  bool means_ = false;
};

}  // namespace

std::vector<double> offers_to_classes(double capacity, const std::vector<double>& wanted,
                                      const std::vector<double>& weight, const std::vector<bool>& strict) {
  std::vector<double> offers(wanted.size(), 0);
  std::vector<std::size_t> by_weight;
  double left = capacity;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!strict[k]) {
      by_weight.push_back(k);
      continue;
    }
    double waiting = 0;  // classes that come later
    for (std::size_t j = 0; j < wanted.size(); ++j)
      if (!strict[j] || j > k) waiting += wanted[j];
    offers[k] = left - std::min(left * never_strict, waiting);
    left -= std::min(offers[k], wanted[k]);
  }
  std::sort(by_weight.begin(), by_weight.end(), [&](std::size_t a, std::size_t b) {
    const double x = wanted[a] / weight[a], y = wanted[b] / weight[b];
    return x != y ? x < y : a < b;
  });
  // From the end, so that the last sums are exact.
  std::vector<double> weights(by_weight.size() + 1, 0);
  for (std::size_t n = by_weight.size(); n-- > 0;)
    weights[n] = weights[n + 1] + (wanted[by_weight[n]] > 0 ? weight[by_weight[n]] : 0);
  for (std::size_t n = 0; n < by_weight.size(); ++n) {
    const std::size_t k = by_weight[n];
    // A class that sends nothing would share with all that do.
    offers[k] = std::max(0.0, left) * weight[k] / (wanted[k] > 0 ? weights[n] : weights[n] + weight[k]);
    left -= std::min(offers[k], wanted[k]);
  }
  return offers;
}

Sharing share_by_class(const ClassProblem& problem) {
  const std::size_t items = problem.items.weight.size();
  FABRICAST_CHECK(problem.in.size() == items, "each item has a class");
  FABRICAST_CHECK(problem.weight.size() == problem.items.capacity.size() * problem.strict.size(),
                  "each class has a weight on each link");
  const bool one = std::all_of(problem.in.begin(), problem.in.end(), [&](auto k) { return k == problem.in.front(); });
  return one ? fill(problem.items) : ClassSharing(problem).run();
}

}  // namespace fabricast
