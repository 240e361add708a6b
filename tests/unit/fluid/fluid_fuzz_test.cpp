// Random networks with everything that may happen to them, against the oracle of tests/support.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/rng.hpp"
#include "support/flow_scene.hpp"
#include "support/fluid_reference.hpp"

namespace fabricast {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct Action {
  enum class Kind { start, set_capacity, stop };
  double time = 0;
  Kind kind = Kind::start;
  SceneFlow flow;            ///< start: at `time`
  std::uint32_t target = 0;  ///< link, or flow in order of starts
  double rate = 0;           ///< set_capacity
};

struct Script {
  std::vector<double> capacity;
  std::vector<Action> actions;  ///< in order of time
};

/// End of each flow: infinite if it stalls or is stopped (then `left` is what was left of it).
struct Outcome {
  std::vector<double> end, left;
  std::vector<FluidEvent> events;
};

template <class Network>
void drain(Network& network, double until, Outcome& outcome) {
  while (const auto event = network.advance(until)) {
    outcome.end[event->flow.value] = event->time;
    outcome.events.push_back(*event);
  }
}

template <class Network>
Outcome play(Network network, const Script& script) {
  Outcome outcome;
  for (const Action& action : script.actions) {
    drain(network, action.time, outcome);
    switch (action.kind) {
      case Action::Kind::start:
        network.start(action.flow.bytes, action.flow.path, action.flow.weight, action.flow.cap);
        outcome.end.push_back(never), outcome.left.push_back(0);
        break;
      case Action::Kind::set_capacity: network.set_capacity(action.target, action.rate); break;
      case Action::Kind::stop:
        if (outcome.end[action.target] == never) {
          outcome.left[action.target] = network.stop(FlowId(action.target));
          outcome.end[action.target] = -1;
        }
        break;
    }
  }
  drain(network, never, outcome);
  return outcome;
}

enum class Shape { parking_lot, incast, fat_tree, tangle, one_link };

std::vector<FluidUse> random_path(Shape shape, std::uint32_t links, Rng& rng) {
  const auto pick = [&](std::uint32_t first, std::uint32_t count) {
    return first + static_cast<std::uint32_t>(rng.below(count));
  };
  std::vector<FluidUse> path;
  switch (shape) {
    case Shape::parking_lot: {
      const std::uint32_t first = pick(0, links), last = std::min(links - 1, first + pick(0, 4));
      for (std::uint32_t l = first; l <= last; ++l) path.push_back({l});
      break;
    }
    case Shape::incast:  // link 0 is the victim's
      path = {{pick(1, links - 1)}, {rng.below(3) ? 0 : pick(1, links - 1)}};
      break;
    case Shape::fat_tree: {  // 4 leaves of 4 hosts, 4 spines; links: 16 up, 16 down, 16 leaf up, 16 leaf down
      const std::uint32_t from = pick(0, 16), to = pick(0, 16), spine = pick(0, 4);
      path = {{from}, {16 + to}};
      if (from / 4 != to / 4) path.push_back({32 + from / 4 * 4 + spine}), path.push_back({48 + to / 4 * 4 + spine});
      break;
    }
    case Shape::tangle:  // any links, perhaps twice, in any amount
      for (std::uint64_t i = 1 + rng.below(5); i > 0; --i)
        path.push_back({pick(0, links), rng.below(2) ? 1.0 : rng.below(2) ? 2.0 : rng.uniform(0.1, 1)});
      break;
    case Shape::one_link: path = {{0}}; break;
  }
  return path;
}

Script random_script(std::uint64_t seed) {
  Rng rng(seed);
  const auto one_in = [&](std::uint64_t n) { return rng.below(n) == 0; };
  const auto shape = static_cast<Shape>(rng.below(5));
  const std::uint32_t links = shape == Shape::fat_tree ? 64 : 2 + static_cast<std::uint32_t>(rng.below(30));
  const bool equal_sizes = one_in(3), pareto = one_in(3), weights = one_in(3), caps = one_in(3), uneven = one_in(2);
  const bool arrivals = one_in(2), changes = one_in(2), stops = one_in(4), dead = one_in(5);
  const std::size_t flows = 1 + rng.below(120);
  // About as long as the flows would take if all started at 0.
  const double horizon = 4.0 * static_cast<double>(flows) / (shape == Shape::one_link ? 1 : links);

  Script script;
  for (std::uint32_t l = 0; l < links; ++l)
    script.capacity.push_back(dead && one_in(8) ? 0 : uneven ? std::floor(rng.uniform(1, 6)) : 4);
  for (std::size_t f = 0; f < flows; ++f) {
    Action start;
    start.flow.path = random_path(shape, links, rng);
    start.flow.bytes = equal_sizes ? 4 : pareto ? std::pow(rng.uniform(), -0.7) : rng.uniform(0.5, 8);
    if (one_in(50)) start.flow.bytes = 0;
    if (weights) start.flow.weight = one_in(2) ? 2 : rng.uniform(0.3, 3);
    if (caps && one_in(2)) start.flow.cap = one_in(2) ? 0.25 : rng.uniform(0.05, 2);
    if (arrivals && !one_in(3)) start.time = one_in(3) ? std::floor(rng.uniform(0, horizon)) : rng.uniform(0, horizon);
    script.actions.push_back(std::move(start));
  }
  for (std::uint32_t l = 0; changes && l < links; ++l) {
    if (!one_in(3)) continue;
    Action change;
    change.kind = Action::Kind::set_capacity;
    change.target = l;
    change.time = rng.uniform(0, horizon);
    change.rate = one_in(2) ? 0 : script.capacity[l] * rng.uniform(0.1, 3);
    script.actions.push_back(change);
    if (one_in(4)) continue;  // else it is repaired
    change.time += rng.uniform(0, horizon);
    change.rate = script.capacity[l];
    script.actions.push_back(change);
  }
  std::stable_sort(script.actions.begin(), script.actions.end(),
                   [](const Action& a, const Action& b) { return a.time < b.time; });
  std::vector<Action> with_stops;
  std::uint32_t started = 0;
  for (const Action& action : script.actions) {
    with_stops.push_back(action);
    if (action.kind == Action::Kind::start) ++started;
    if (!stops || started == 0 || !one_in(10)) continue;
    Action stop;
    stop.kind = Action::Kind::stop;
    stop.time = action.time;
    stop.target = static_cast<std::uint32_t>(rng.below(started));
    with_stops.push_back(stop);
  }
  script.actions = std::move(with_stops);
  return script;
}

double relative(double a, double b) { return a == b ? 0 : std::abs(a - b) / std::max(std::abs(a), std::abs(b)); }

TEST_CASE("1000 random networks end every flow when the oracle does", "[engine][fluid]") {
  std::size_t ends = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Script script = random_script(seed);
    const Outcome expected = play(FluidReference(script.capacity), script);
    FluidOptions options;
    if (seed % 4 == 0) options.patience = 0.2;  // fills anew at every event that reaches far
    const Outcome outcome = play(FluidNetwork(script.capacity, options), script);

    double worst = 0, worst_left = 0;
    for (std::size_t f = 0; f < expected.end.size(); ++f) {
      worst = std::max(worst, relative(outcome.end[f], expected.end[f]));
      worst_left = std::max(worst_left, std::abs(outcome.left[f] - expected.left[f]));
    }
    CAPTURE(seed);
    CHECK(worst < 1e-11);
    CHECK(worst_left < 1e-10);
    CHECK(std::is_sorted(outcome.events.begin(), outcome.events.end(),
                         [](const FluidEvent& a, const FluidEvent& b) { return a.time < b.time; }));
    ends += outcome.events.size();
  }
  CHECK(ends > 40'000);
}

}  // namespace
}  // namespace fabricast
