#include "fabricast/engine/max_min.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Item {
  std::vector<std::pair<std::uint32_t, double>> uses;
  double weight = 1, cap = unbounded;
};

SharingProblem problem_of(std::vector<double> capacity, const std::vector<Item>& items) {
  SharingProblem problem;
  problem.capacity = std::move(capacity);
  problem.first.push_back(0);
  for (const Item& item : items) {
    for (const auto& [link, use] : item.uses) problem.link.push_back(link), problem.use.push_back(use);
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.weight.push_back(item.weight);
    problem.cap.push_back(item.cap);
  }
  return problem;
}

/// Random sharing with ties, dead links, caps, weights and repeated links.
SharingProblem random_problem(std::uint64_t seed) {
  Rng rng(seed);
  const auto links = static_cast<std::uint32_t>(1 + rng.below(24));
  const bool plain = rng.below(3) == 0;
  std::vector<double> capacity;
  for (std::uint32_t l = 0; l < links; ++l)
    capacity.push_back(rng.below(20) == 0 ? 0 : plain ? 10 : std::floor(rng.uniform(1, 20)));
  std::vector<Item> items(1 + rng.below(60));
  for (Item& item : items) {
    const std::uint64_t length = 1 + rng.below(4);
    for (std::uint64_t i = 0; i < length; ++i)
      item.uses.emplace_back(static_cast<std::uint32_t>(rng.below(links)),
                             plain ? 1.0 : static_cast<double>(1 + rng.below(3)));
    if (!plain) item.weight = rng.below(2) ? 1 : rng.uniform(0.2, 5);
    if (rng.below(5) == 0) item.cap = rng.uniform(0.01, 3);
  }
  return problem_of(std::move(capacity), items);
}

/// Property (3) of sharing.hpp; the worst relative violation.
double worst_violation(const SharingProblem& p, const Sharing& sharing) {
  std::vector<double> carried(p.capacity.size()), highest(p.capacity.size());
  for (std::size_t i = 0; i < p.weight.size(); ++i)
    for (std::uint32_t k = p.first[i]; k < p.first[i + 1]; ++k) {
      carried[p.link[k]] += p.use[k] * p.weight[i] * sharing.level[i];
      highest[p.link[k]] = std::max(highest[p.link[k]], sharing.level[i]);
    }
  double worst = 0;
  const auto demand = [&](bool holds, double by) { worst = std::max(worst, holds ? 0 : by); };
  for (std::size_t l = 0; l < p.capacity.size(); ++l)
    demand(carried[l] <= p.capacity[l], p.capacity[l] > 0 ? carried[l] / p.capacity[l] - 1 : 1);
  for (std::size_t i = 0; i < p.weight.size(); ++i) {
    const double rate = sharing.level[i] * p.weight[i];
    demand(rate <= p.cap[i], rate / p.cap[i] - 1);
    if (sharing.bottleneck[i] == no_link) {
      demand(rate == p.cap[i], std::abs(rate / p.cap[i] - 1));
      continue;
    }
    const std::uint32_t l = sharing.bottleneck[i];
    demand(std::find(&p.link[p.first[i]], p.link.data() + p.first[i + 1], l) != p.link.data() + p.first[i + 1], 1);
    demand(carried[l] >= p.capacity[l], p.capacity[l] > 0 ? 1 - carried[l] / p.capacity[l] : 1);
    demand(sharing.level[i] >= highest[l], highest[l] / sharing.level[i] - 1);
  }
  return worst;
}

/// Filling without a heap: looks at every link in every round.
std::vector<double> levels_by_rounds(const SharingProblem& p) {
  const std::size_t items = p.weight.size();
  std::vector<double> level(items, -1);
  for (std::size_t frozen = 0; frozen < items;) {
    std::vector<double> rest = p.capacity, demand(p.capacity.size());
    for (std::size_t i = 0; i < items; ++i)
      for (std::uint32_t k = p.first[i]; k < p.first[i + 1]; ++k) {
        const double weight = p.use[k] * p.weight[i];
        if (level[i] < 0)
          demand[p.link[k]] += weight;
        else
          rest[p.link[k]] -= weight * level[i];
      }
    const auto share = [&](std::size_t l) { return demand[l] > 0 ? std::max(0.0, rest[l] / demand[l]) : unbounded; };
    const auto bound = [&](std::size_t i) {
      double least = p.cap[i] / p.weight[i];
      for (std::uint32_t k = p.first[i]; k < p.first[i + 1]; ++k) least = std::min(least, share(p.link[k]));
      return least;
    };
    double least = unbounded;
    for (std::size_t i = 0; i < items; ++i)
      if (level[i] < 0) least = std::min(least, bound(i));
    std::vector<std::size_t> now;
    for (std::size_t i = 0; i < items; ++i)
      if (level[i] < 0 && bound(i) <= least * (1 + 1e-13)) now.push_back(i);
    for (const std::size_t i : now) level[i] = least;
    frozen += now.size();
  }
  return level;
}

TEST_CASE("channels share links by connection: the worked example of [solver-study-4]", "[engine][sharing]") {
  // L0 carries two connections of channel A and one each of B and C, L1 one of C, L2 one each of A and C.
  const Item a{{{0, 2}, {2, 1}}}, b{{{0, 1}}}, c{{{0, 1}, {1, 1}, {2, 1}}};

  const Sharing sharing = fill(problem_of({10, 2, 4}, {a, b, c}));
  CHECK(sharing.level == std::vector<double>{2, 4, 2});
  CHECK(sharing.bottleneck == std::vector<std::uint32_t>{2, 0, 1});

  const Sharing without_l2 = fill(problem_of({10, 2}, {{{{0, 2}}}, b, {{{0, 1}, {1, 1}}}}));
  CHECK(without_l2.level[0] == Approx(8.0 / 3));
  CHECK(without_l2.level[1] == Approx(8.0 / 3));
  CHECK(without_l2.level[2] == 2);
}

TEST_CASE("a path that crosses a link twice takes two shares of it", "[engine][sharing]") {
  CHECK(fill(problem_of({10}, {{{{0, 2}}}})).level[0] == 5);
  CHECK(fill(problem_of({10}, {{{{0, 1}, {0, 1}}}})).level[0] == 5);
}

TEST_CASE("weights divide a link in proportion, and capped items leave the rest to the others", "[engine][sharing]") {
  const Sharing sharing = fill(problem_of({12}, {{{{0, 1}}, 1}, {{{0, 1}}, 2}, {{{0, 1}}, 3, 1.5}}));
  CHECK(sharing.level[0] == Approx(3.5));
  CHECK(sharing.level[1] == Approx(3.5));
  CHECK(sharing.level[2] * 3 == Approx(1.5));
  CHECK(sharing.bottleneck == std::vector<std::uint32_t>{0, 0, no_link});
}

TEST_CASE("a dead link stops its items and leaves the rest to the others", "[engine][sharing]") {
  const Sharing sharing = fill(problem_of({0, 9}, {{{{0, 1}, {1, 1}}}, {{{1, 1}}}}));
  CHECK(sharing.level == std::vector<double>{0, 9});
  CHECK(sharing.bottleneck == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("a light item gets exactly what a heavy one leaves", "[engine][sharing]") {
  const Sharing sharing = fill(problem_of({8}, {{{{0, 1}}, 1e9, 2}, {{{0, 1}}, 1e-9}, {{{0, 1}}, 2e-9}}));
  CHECK(sharing.level[1] * 1e-9 == Approx(2));
  CHECK(sharing.level[2] * 2e-9 == Approx(4));
}

TEST_CASE("an item that nothing bounds has an infinite level", "[engine][sharing]") {
  const Sharing sharing = fill(problem_of({unbounded}, {{{{0, 1}}}, {{}, 2, 3}}));
  CHECK(sharing.level == std::vector<double>{unbounded, 1.5});
  CHECK(sharing.bottleneck == std::vector<std::uint32_t>{no_link, no_link});
}

TEST_CASE("every item has a bottleneck, and no link is overloaded", "[engine][sharing]") {
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const SharingProblem problem = random_problem(seed);
    worst = std::max(worst, worst_violation(problem, fill(problem)));
  }
  CHECK(worst < 1e-12);
}

TEST_CASE("filling with a heap equals filling in rounds", "[engine][sharing]") {
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const SharingProblem problem = random_problem(seed);
    const Sharing sharing = fill(problem);
    const std::vector<double> expected = levels_by_rounds(problem);
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::abs(sharing.level[i] - expected[i]) / std::max(expected[i], 1e-3));
  }
  CHECK(worst < 1e-11);
}

}  // namespace
}  // namespace fabricast
