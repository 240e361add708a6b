// No forecast is faster than its bytes: for every link, inside the nodes and outside,
//
//     makespan  >=  bytes that must cross the link / its rate
//
// on random scenarios. Bytes are counted from the schedule, independently of the engine (support/link_bytes.hpp). To
// examine a failure, run the scenario that it prints.
#include <catch2/catch.hpp>
#include <map>
#include <optional>

#include "fabricast/engine/engine.hpp"
#include "fabricast/report/forecast.hpp"
#include "sim/engine/count/loads.hpp"
#include "sim/engine/count/router_under_load.hpp"
#include "support/link_bytes.hpp"
#include "support/random_scenario.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

constexpr double rounding = 1e-6;
/// Schedules with more steps take too long to walk.
constexpr std::int64_t most_steps = 60000;

struct Sampled {
  RandomScenario scenario;
  World world;
  Plan plan;
};

World world_of(const RandomScenario& scenario) {
  return build_world(parse_scenario(scenario.yaml(), "random.yaml").scenario);
}

/// Nothing if the parts do not fit together.
std::optional<Sampled> sample(std::uint64_t seed, std::string_view fabric) try {
  Rng rng(seed);
  Sampled sampled;
  sampled.scenario = sample_scenario(rng, fabric);
  sampled.world = world_of(sampled.scenario);
  if (!once_in(rng, 3)) {
    sampled.scenario.faults = sample_faults(rng, sampled.world);
    sampled.world = world_of(sampled.scenario);
  }
  const auto plan = [&] { return plan_workload(sampled.world, sampled.scenario.bytes); };
  for (sampled.plan = plan(); steps_of(sampled.world.planner().comm, sampled.plan) > most_steps;
       sampled.plan = plan()) {
    if (sampled.scenario.bytes < 64 * 1024) return std::nullopt;
    sampled.scenario.bytes = sampled.scenario.bytes / 8 / 1024 * 1024;
  }
  return sampled;
} catch (const UserError&) { return std::nullopt; }

/// The router of the plan's traffic.
std::unique_ptr<Router> router_of(const World& world, const Plan& plan) {
  const NetworkSetup& setup = world.setup();
  if (setup.comm->nodes() == 1) return nullptr;
  const NetworkSegment& segment = setup.segments.front();
  auto router = setup.policy->make(*setup.policy_spec, *setup.fabric, segment.links, world.samples().first_seed);
  auto loaded = router_under_load(*setup.comm, plan_of_streams(plan), *setup.fabric, *router, segment);
  return loaded ? std::move(loaded) : std::move(router);
}

/// What has been covered, so that the test fails if it skips a large part.
class Seen {
 public:
  void add(const Sampled& sampled) {
    for (const std::string_view word :
         {name_of(sampled.plan.op), name_of(sampled.plan.algorithm), name_of(sampled.plan.protocol)})
      ++times_[std::string(word)];
    if (sampled.world.fabric()) ++times_[std::string(sampled.world.setup().policy->name)];
    if (!sampled.scenario.faults.empty()) ++times_["faults"];
  }
  void binding(const std::string& link) { ++times_[link.starts_with("NCCL node") ? "inside" : "outside"]; }
  std::size_t of(const std::string& word) const { return times_.contains(word) ? times_.at(word) : 0; }

 private:
  std::map<std::string, std::size_t> times_;
};

void check(const Sampled& sampled, Seen& seen) {
  const World& world = sampled.world;
  double makespan = 0;
  try {
    makespan = make_flow_engine(world.setup(), world.samples().first_seed)->run(sampled.plan).makespan.value;
  } catch (const UserError&) { return; }  // the fabric is cut
  const auto router = router_of(world, sampled.plan);
  const LongestLink longest =
      longest_link(world.setup(), router.get(), count_link_bytes(world.setup(), sampled.plan, router.get()));
  seen.add(sampled);
  if (longest.seconds > makespan / 2) seen.binding(longest.name);
  INFO(name_of(sampled.plan.algorithm) << ' ' << name_of(sampled.plan.protocol) << ": " << longest.name << " needs "
                                       << longest.seconds * 1e6 << " us for its bytes, the forecast is "
                                       << makespan * 1e6 << " us (" << makespan / longest.seconds << ")\n"
                                       << sampled.scenario.yaml());
  CHECK(longest.seconds > 0);
  CHECK(makespan >= longest.seconds * (1 - rounding));
}

// At least one in a hundred.
constexpr const char* must_be_seen[] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast",    "reduce",   "alltoall",      "sendrecv", "scatter",
    "gather",     "ring",       "tree",           "nvls",         "nvlstree", "collnetdirect", "pat",      "p2p",
    "ll",         "ll128",      "simple",         "collnetchain", "ecmp",     "adaptive",      "spray",    "static",
    "faults",     "inside",     "outside"};

/// \param fabric  as for sample_scenario
Seen check_seeds(std::uint64_t first, int wanted, std::string_view fabric = {}) {
  Seen seen;
  int done = 0;
  for (std::uint64_t seed = first; done < wanted; ++seed) {
    REQUIRE(seed < first + 10 * static_cast<std::uint64_t>(wanted));
    const auto sampled = sample(seed, fabric);
    if (!sampled) continue;
    ++done;
    CAPTURE(seed);
    check(*sampled, seen);
  }
  return seen;
}

void check_seen(const Seen& seen, int wanted) {
  for (const char* word : must_be_seen) {
    CAPTURE(word);
    CHECK(seen.of(word) * 100 >= static_cast<std::size_t>(wanted));
  }
}

/// The same on every other fabric.
void check_direct(std::uint64_t first, int wanted) {
  for (const std::string_view fabric : other_fabrics) {
    CAPTURE(fabric);
    const Seen seen = check_seeds(first, wanted, fabric);
    for (const char* word :
         {"ecmp", "adaptive", "spray", "static", "valiant", "ugal", "faults", "outside", "ring", "p2p"}) {
      CAPTURE(word);
      if (!has_detours(fabric) && (word == std::string("valiant") || word == std::string("ugal"))) continue;
      CHECK(seen.of(word) * 100 >= static_cast<std::size_t>(wanted));
    }
  }
}

}  // namespace

TEST_CASE("no forecast is faster than the bytes of any link, on 500 random scenarios") {
  check_seen(check_seeds(1, 500), 500);
}

TEST_CASE("nor on dragonflies, tori, planes and other fabrics, 60 scenarios of each") { check_direct(1, 60); }

TEST_CASE("nor on dragonflies, tori, planes and other fabrics, 1000 scenarios of each", "[.all]") {
  check_direct(1001, 1000);
}

TEST_CASE("no forecast is faster than the bytes of any link, on 1000 and 20000 random scenarios", "[.all]") {
  check_seen(check_seeds(1, 1000), 1000);
  check_seen(check_seeds(100001, 20000), 20000);
}
