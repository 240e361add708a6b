// Shares of traffic classes against closed forms, and the conditions that they state on any network.
#include "fabricast/engine/class_shares.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "fabricast/core/rng.hpp"
#include "support/ets_port.hpp"

namespace fabricast {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Sender {
  std::uint32_t in = 0;
  std::vector<std::uint32_t> links = {0};
  double cap = unbounded, weight = 1, use = 1;
};

struct Class {
  double weight = 1;
  bool strict = false;
};

ClassProblem problem_of(const std::vector<Class>& classes, const std::vector<Sender>& senders,
                        std::vector<double> capacity = {1}) {
  ClassProblem problem;
  problem.items.capacity = std::move(capacity);
  problem.items.first.push_back(0);
  for (const Sender& s : senders) {
    for (const std::uint32_t l : s.links) problem.items.link.push_back(l), problem.items.use.push_back(s.use);
    problem.items.first.push_back(static_cast<std::uint32_t>(problem.items.link.size()));
    problem.items.weight.push_back(s.weight);
    problem.items.cap.push_back(s.cap);
    problem.in.push_back(s.in);
  }
  for (const Class& c : classes) problem.strict.push_back(c.strict);
  for (std::size_t l = 0; l < problem.items.capacity.size(); ++l)
    for (const Class& c : classes) problem.weight.push_back(c.weight);
  return problem;
}

std::vector<double> rates_of(const ClassProblem& p) {
  const Sharing found = share_by_class(p);
  std::vector<double> rates;
  for (std::size_t i = 0; i < found.level.size(); ++i) rates.push_back(found.level[i] * p.items.weight[i]);
  return rates;
}

void check_rates(const std::vector<Class>& classes, const std::vector<Sender>& senders,
                 const std::vector<double>& expected, double margin = 1e-9) {
  const std::vector<double> rates = rates_of(problem_of(classes, senders));
  REQUIRE(rates.size() == expected.size());
  for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == Approx(expected[i]).epsilon(margin));
}

TEST_CASE("classes share a link by weight, whatever the number of their connections", "[engine][class_shares]") {
  check_rates({{0.7}, {0.3}}, {{0}, {1}}, {0.7, 0.3});
  // Weights need not add up to 1.
  check_rates({{7}, {3}}, {{0}, {1}}, {0.7, 0.3});
  check_rates({{0.5}, {0.5}}, {{0}, {1}, {1}, {1}}, {0.5, 0.5 / 3, 0.5 / 3, 0.5 / 3});
  // Within a class by connection: an item of weight 2 counts as two.
  check_rates({{0.5}, {0.5}}, {{0}, {1, {0}, unbounded, 2}, {1}}, {0.5, 1.0 / 3, 0.5 / 3});
  check_rates({{0.2}, {0.3}, {0.5}}, {{0}, {1}, {2}}, {0.2, 0.3, 0.5});
}

TEST_CASE("what a class does not need goes to the others", "[engine][class_shares]") {
  check_rates({{0.5}, {0.5}}, {{0, {0}, 0.1}, {1}}, {0.1, 0.9});
  // In proportion to the weights of those that want more.
  check_rates({{0.5}, {0.3}, {0.2}}, {{0, {0}, 0.1}, {1}, {2}}, {0.1, 0.54, 0.36});
  // A class that nobody sends in takes nothing.
  check_rates({{0.5}, {0.3}, {0.2}}, {{1}, {2}}, {0.6, 0.4});
  // Within a class what an item does not need goes to its neighbours first, since the class wants more than its part.
  check_rates({{0.5}, {0.5}}, {{0, {0}, 0.1}, {0}, {1}}, {0.1, 0.4, 0.5});
}

TEST_CASE("strict classes come first", "[engine][class_shares]") {
  check_rates({{1, true}, {0.6}, {0.4}}, {{0, {0}, 0.5}, {1}, {2}}, {0.5, 0.3, 0.2});
  // Several of them in their order.
  check_rates({{1, true}, {1, true}, {1}}, {{0, {0}, 0.25}, {1, {0}, 0.5}, {2}}, {0.25, 0.5, 0.25});
  // One that wants everything leaves a thousandth.
  check_rates({{1, true}, {1}}, {{0}, {1}}, {0.999, 0.001});
  check_rates({{1, true}, {1, true}}, {{0, {0}, 0.25}, {1}}, {0.25, 0.75});
}

TEST_CASE("a class takes no more of a link than it can use further on", "[engine][class_shares]") {
  // Item 0 crosses both links; on the second it meets three of its class. It wants a quarter of the first link at most,
  // and of that link the other class takes the rest.
  const std::vector<double> rates =
      rates_of(problem_of({{0.5}, {0.5}}, {{0, {0, 1}}, {0, {1}}, {0, {1}}, {0, {1}}, {1, {0}}}, {1, 1}));
  for (int i = 0; i < 4; ++i) CHECK(rates[static_cast<std::size_t>(i)] == Approx(0.25));
  CHECK(rates[4] == Approx(0.75));
}

TEST_CASE("reads of n targets leave a job its class's part of the port", "[engine][class_shares]") {
  for (const std::uint32_t n : {1U, 4U, 16U, 64U})
    for (const double weight : {0.1, 0.3, 0.5}) {
      CAPTURE(n, weight);
      std::vector<Sender> senders(1);
      for (std::uint32_t i = 0; i < n; ++i) senders.push_back({1, {0, 1 + i}});
      const std::vector<double> capacity(1 + n, 1);
      const std::vector<double> apart = rates_of(problem_of({{1 - weight}, {weight}}, senders, capacity));
      CHECK(apart[0] == Approx(1 - weight));
      CHECK(std::accumulate(apart.begin(), apart.end(), 0.0) == Approx(1));
      for (Sender& s : senders) s.in = 0;
      CHECK(rates_of(problem_of({{1 - weight}, {weight}}, senders, capacity))[0] == Approx(1.0 / (n + 1)));
    }
}

TEST_CASE("a port that serves queues packet by packet gives the same shares", "[engine][class_shares]") {
  struct Case {
    std::vector<double> weights;
    std::vector<test::PortSender> senders;
  };
  const std::vector<Case> cases = {
      {{0.7, 0.3}, {{0}, {1}}},
      {{0.5, 0.5}, {{0}, {1}, {1}, {1}, {1}, {1}}},
      {{0.9, 0.1}, {{0}, {1}, {1}, {1}}},
      // A class that wants less than its part, and one with a sender that wants less.
      {{0.5, 0.3, 0.2}, {{0, 0.1}, {1}, {1}, {2}}},
      {{0.6, 0.4}, {{0, 0.1}, {0}, {1}}},
      {{0.2, 0.8}, {{0}, {0}, {1, 0.25}, {1, 0.25}}},
      {{0.25, 0.25, 0.25, 0.25}, {{0}, {1, 0.05}, {2}, {3, 0.2}, {3, 0.2}}},
  };
  for (std::size_t n = 0; n < cases.size(); ++n) {
    CAPTURE(n);
    std::vector<Class> classes;
    for (const double weight : cases[n].weights) classes.push_back({weight});
    std::vector<Sender> senders;
    for (const test::PortSender& s : cases[n].senders) senders.push_back({s.in, {0}, s.rate});
    const std::vector<double> rates = rates_of(problem_of(classes, senders)),
                              packets = test::port_shares_by_packets(cases[n].weights, cases[n].senders, 200'000);
    for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == Approx(packets[i]).epsilon(0.005));
  }
}

struct Network {
  std::vector<Class> classes;
  std::vector<Sender> senders;
  std::vector<double> capacity;
};

Network random_network(std::uint64_t seed) {
  Rng rng(seed);
  Network n;
  const std::uint64_t links = 1 + rng.below(20);
  for (std::uint64_t l = 0; l < links; ++l) n.capacity.push_back(rng.uniform(1, 10));
  const std::uint64_t classes = 2 + rng.below(3);
  for (std::uint64_t k = 0; k < classes; ++k) n.classes.push_back({rng.uniform(0.05, 1), rng.below(6) == 0});
  n.senders.resize(1 + rng.below(50));
  for (Sender& s : n.senders) {
    s.in = static_cast<std::uint32_t>(rng.below(classes));
    s.links.clear();
    const std::uint64_t length = 1 + rng.below(4);
    while (s.links.size() < std::min(length, links)) {
      const auto l = static_cast<std::uint32_t>(rng.below(links));
      if (std::find(s.links.begin(), s.links.end(), l) == s.links.end()) s.links.push_back(l);
    }
    if (rng.below(4) == 0) s.cap = rng.uniform(0.01, 3);
    if (rng.below(3) == 0) s.weight = rng.uniform(0.1, 3);
    if (rng.below(3) == 0) s.use = rng.uniform(0.2, 2);
  }
  return n;
}

/// What the links carry, by link and class.
std::vector<std::vector<double>> carried(const ClassProblem& p, const std::vector<double>& rates) {
  std::vector<std::vector<double>> sums(p.items.capacity.size(), std::vector<double>(p.strict.size(), 0));
  for (std::size_t i = 0; i < rates.size(); ++i)
    for (std::uint32_t k = p.items.first[i]; k < p.items.first[i + 1]; ++k)
      sums[p.items.link[k]][p.in[i]] += p.items.use[k] * rates[i];
  return sums;
}

/// Whether a link is the bottleneck of an item: condition (2) of the header.
bool holds_back(const ClassProblem& p, const std::vector<double>& rates, const std::vector<std::vector<double>>& sums,
                std::size_t item, std::uint32_t link) {
  constexpr double slack = 1e-6;
  const std::vector<double>& here = sums[link];
  const double sum = std::accumulate(here.begin(), here.end(), 0.0), capacity = p.items.capacity[link];
  if (sum < capacity * (1 - slack)) return false;
  const std::uint32_t own = p.in[item];
  const double level = rates[item] / p.items.weight[item];
  for (std::size_t j = 0; j < rates.size(); ++j)
    for (std::uint32_t k = p.items.first[j]; k < p.items.first[j + 1]; ++k)
      if (p.items.link[k] == link && p.in[j] == own && rates[j] / p.items.weight[j] > level * (1 + slack)) return false;
  for (std::uint32_t k = 0; k < here.size(); ++k) {
    if (k == own) continue;
    // No class that comes later has more than the thousandth that is kept for it.
    if (p.strict[own] && (!p.strict[k] || k > own) && here[k] > capacity * (0.001 + slack)) return false;
    const double weight = p.weight[link * here.size() + own], other = p.weight[link * here.size() + k];
    if (!p.strict[own] && !p.strict[k] && here[own] / weight < here[k] / other * (1 - slack)) return false;
  }
  return true;
}

TEST_CASE("every item has a bottleneck, and no link carries more than it can", "[engine][class_shares]") {
  int without = 0, items = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Network n = random_network(seed);
    const ClassProblem p = problem_of(n.classes, n.senders, n.capacity);
    const std::vector<double> rates = rates_of(p);
    const auto sums = carried(p, rates);
    for (std::size_t l = 0; l < sums.size(); ++l)
      REQUIRE(std::accumulate(sums[l].begin(), sums[l].end(), 0.0) <= n.capacity[l] * (1 + 1e-9));
    for (std::size_t i = 0; i < rates.size(); ++i) {
      REQUIRE(rates[i] > 0);
      REQUIRE(rates[i] <= n.senders[i].cap * (1 + 1e-9));
      // Work conserving, in any case: an item below its cap crosses a full link.
      bool capped = rates[i] >= n.senders[i].cap * (1 - 1e-9), full = capped, held = capped;
      for (const std::uint32_t l : n.senders[i].links) {
        full |= std::accumulate(sums[l].begin(), sums[l].end(), 0.0) >= n.capacity[l] * (1 - 1e-9);
        held |= holds_back(p, rates, sums, i, l);
      }
      REQUIRE(full);
      ++items;
      without += !held;
    }
  }
  CAPTURE(items);
  CHECK(without == 0);
}

TEST_CASE("with one class the shares are those without classes, bit by bit", "[engine][class_shares]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Network n = random_network(seed);
    for (Sender& s : n.senders) s.in = 1;
    const ClassProblem p = problem_of(n.classes, n.senders, n.capacity);
    const Sharing by_class = share_by_class(p), plain = fill(p.items);
    CHECK(by_class.level == plain.level);
    CHECK(by_class.bottleneck == plain.bottleneck);
  }
}

TEST_CASE("on one link more weight never gives a class less", "[engine][class_shares]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Network n = random_network(seed);
    n.capacity.resize(1);
    for (Sender& s : n.senders) s.links = {0};
    const auto of_first = [&] {
      const ClassProblem p = problem_of(n.classes, n.senders, n.capacity);
      return carried(p, rates_of(p))[0][0];
    };
    const double before = of_first();
    n.classes[0].weight *= 1.5;
    CHECK(of_first() >= before * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace fabricast
