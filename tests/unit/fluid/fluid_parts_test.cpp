#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "fabricast/core/rng.hpp"
#include "sim/fluid/completion_tree.hpp"
#include "sim/fluid/fluid_clocks.hpp"
#include "sim/fluid/level_queue.hpp"
#include "sim/fluid/pair_list.hpp"

namespace fabricast {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

TEST_CASE("a level queue gives back what it holds, in order", "[engine][fluid]") {
  Rng rng(1);
  LevelQueue queue;
  queue.grow(1000);
  std::vector<double> key(1000);
  std::uint32_t held = 0;
  double last = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto row = static_cast<std::uint32_t>(rng.below(1000));
    if (rng.below(2) && !queue.holds(row)) {
      queue.push(row, key[row] = rng.uniform(last, 1e10));
      ++held;
    } else if (!queue.empty()) {
      const std::uint32_t first = queue.pop();
      CHECK(key[first] >= last * (1 - 1e-8));
      CHECK_FALSE(queue.holds(first));
      last = key[first];
      --held;
    }
  }
  for (; !queue.empty(); --held) queue.pop();
  CHECK(held == 0);
}

TEST_CASE("a level queue breaks ties by row and takes keys of any size", "[engine][fluid]") {
  LevelQueue queue;
  queue.grow(6);
  queue.push(3, 7), queue.push(1, 7), queue.push(2, 1e300), queue.push(4, 0), queue.push(0, never);
  CHECK(queue.before(5, 1));
  CHECK_FALSE(queue.before(3, 0));
  std::vector<std::uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop());
  CHECK(order == std::vector<std::uint32_t>{4, 1, 3, 2, 0});
  CHECK_FALSE(queue.before(5, never));
}

TEST_CASE("a pair list is a map from rows to weights", "[engine][fluid]") {
  Rng rng(2);
  PairList list;
  std::map<std::uint32_t, std::vector<double>> expected;
  for (int step = 0; step < 5000; ++step) {
    const auto row = static_cast<std::uint32_t>(rng.below(60));
    auto& weights = expected[row];
    if (weights.empty() || rng.below(2)) {
      weights.push_back(static_cast<double>(1 + rng.below(4)));
      list.add(row, weights.back());
    } else {
      list.drop(row, weights.back());
      weights.pop_back();
    }
    if (weights.empty()) expected.erase(row);
  }
  REQUIRE(list.size() == expected.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    double sum = 0;
    for (const double weight : expected.at(list.rows()[i])) sum += weight;
    CHECK(list.shared()[i].weight == sum);
  }
}

TEST_CASE("a completion tree finds the least time, and all up to a limit", "[engine][fluid]") {
  Rng rng(3);
  CompletionTree tree;
  CHECK(tree.least() == never);
  std::vector<double> times;
  for (std::uint32_t slots = 1; slots < 40; slots += 3) {
    tree.grow(slots);
    times.resize(slots, never);
    for (int step = 0; step < 50; ++step) {
      const auto slot = static_cast<std::uint32_t>(rng.below(slots));
      tree.set(slot, times[slot] = rng.below(4) ? std::floor(rng.uniform(0, 10)) : never);
      CHECK(tree.least() == *std::min_element(times.begin(), times.end()));
    }
    std::vector<std::uint32_t> found, expected;
    tree.up_to(4, [&](std::uint32_t slot) { found.push_back(slot); });
    for (std::uint32_t slot = 0; slot < slots; ++slot)
      if (times[slot] <= 4) expected.push_back(slot);
    CHECK(found == expected);
  }
}

TEST_CASE("a clock that ran fast for long keeps the digits of a small flow", "[engine][fluid]") {
  FluidClocks clocks;
  clocks.grow(1, 2);
  clocks.set_pace(0, 1e15, 0);
  clocks.join(0, 0, 1e20, 0);
  clocks.set_pace(0, 1, 1000);
  clocks.join(1, 0, 1, 1000);
  CHECK(clocks.next() == 1001);
  CHECK(clocks.leave(1, 1000.5) == 0.5);
  CHECK(clocks.ahead(0, 1000.5) == Approx(1e20 - 1e18).epsilon(1e-14));
}

}  // namespace
}  // namespace fabricast
