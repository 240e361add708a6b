// Collectives of whole steps that run alone, compared with `run` for the same traffic.
//
// The same traffic is a collective of the same bytes, with the same number of ranks, on the same hosts of the same
// fabric. All groups of a kind call at once. A scenario has the same traffic if one group holds all ranks, if groups
// stay inside a node, or if the stage is one group. Groups with one GPU of each node come in eights, one per rail. A
// node with one GPU and its NIC is one of these groups; it has the same share of the fabric if the switches spread the
// traffic over all links.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "fabricast/engine/engine.hpp"
#include "fabricast/traffic/flow_traffic.hpp"
#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::both;
using test::Sets;
using test::step_world;

/// The changes that turn the scenario of a step into one of the first group of a kind of collective.
Sets as_collective(const World& world, const Program& program, const CollectiveKind& kind) {
  const RankGroups& groups = program.groups[kind.groups];
  const auto gpus = static_cast<std::uint32_t>(world.scenario().node.spec.gpus);
  std::vector<std::uint32_t> hosts;
  for (const std::uint32_t rank : groups.front())
    if (std::find(hosts.begin(), hosts.end(), rank / gpus) == hosts.end()) hosts.push_back(rank / gpus);
  std::sort(hosts.begin(), hosts.end());
  const std::size_t of_each = groups.front().size() / hosts.size();
  Sets set{fmt::format("workload={{kind: collective, collective: {}}}", name_of(kind.op)),
           fmt::format("cluster={{nodes: {}, size: {}, placement: list, order: [{}]}}", hosts.size(),
                       world.scenario().cluster.size, fmt::join(hosts, ", "))};
  if (of_each < gpus) set.push_back(fmt::format("node.gpus={}", of_each));
  if (of_each == 1) set.push_back("node.nics.count=1");
  return set;
}

double run(const World& world, const CollectiveKind& kind, std::uint64_t seed) {
  return make_flow_engine(world.setup(), seed)
      ->run(plan_collective(world.planner(), kind.op, kind.bytes))
      .makespan.value;
}

const std::string adaptive = "routing={kind: adaptive}";

TEST_CASE("every collective of the three jobs takes the time of its own scenario when it runs alone") {
  const std::string name = GENERATE(as<std::string>(), "zero3", "strong_scaling", "experts");
  const auto world = step_world(name, {adaptive});
  const Program program = training_program(step_of(world));
  const auto traffic = make_flow_traffic(world, program, 1);
  std::set<std::pair<CollectiveOp, Part>> seen;
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    const CollectiveKind& kind = program.collectives[k];
    const auto alone = step_world(name, both({adaptive}, as_collective(world, program, kind)));
    CAPTURE(name, kind.name, kind.bytes, program.groups[kind.groups].front().size());
    CHECK(traffic->alone(k).makespan.value == Approx(run(alone, kind, 1)).epsilon(0.03));
    seen.emplace(kind.op, kind.part);
  }
  CHECK(seen.size() == (name == "zero3" ? 2 : name == "experts" ? 4 : 6));
}

TEST_CASE("times of collectives do not depend on the number of threads") {
  const std::string name = GENERATE(as<std::string>(), "strong_scaling", "experts");
  const auto world = step_world(name);
  const Program program = training_program(step_of(world));
  const auto one = make_flow_traffic(world, program, 7, 1), several = make_flow_traffic(world, program, 7, 5);
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    CAPTURE(name, program.collectives[k].name);
    CHECK(one->alone(k).makespan.value == several->alone(k).makespan.value);
    CHECK(one->alone(k).bottleneck == several->alone(k).bottleneck);
    CHECK(one->alone(k).launch.value == several->alone(k).launch.value);
  }
}

TEST_CASE("a group of all ranks takes the time of `run` with the same sample of the hash") {
  const auto world = step_world("zero3");
  const Program program = training_program(step_of(world));
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  const auto traffic = make_flow_traffic(world, program, seed);
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    const auto alone = step_world("zero3", as_collective(world, program, program.collectives[k]));
    CHECK(traffic->alone(k).makespan.value == Approx(run(alone, program.collectives[k], seed)).epsilon(1e-9));
  }
}

/// No scenario has the groups of all rails at once. If they share links, the engine's time of a single group is lower.
TEST_CASE("groups of all rails take at least as long as each of them, and at most as long as all in sequence") {
  const auto world = step_world("strong_scaling", {adaptive, "fabric.oversubscription=4", "cluster.placement=random"});
  const Program program = training_program(step_of(world));
  const auto traffic = make_flow_traffic(world, program, 1);
  bool meet = false;
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    const CollectiveKind& kind = program.collectives[k];
    if (kind.part != Part::data) continue;
    double longest = 0, sum = 0;
    for (const std::vector<std::uint32_t>& group : program.groups[kind.groups]) {
      Program one;
      one.groups.push_back({group});
      one.collectives.push_back(kind);
      one.collectives[0].groups = 0;
      const double seconds = make_flow_traffic(world, one, 1)->alone(0).makespan.value;
      longest = std::max(longest, seconds), sum += seconds;
    }
    CAPTURE(kind.name, kind.bytes);
    CHECK(traffic->alone(k).makespan.value >= longest * (1 - 1e-9));
    CHECK(traffic->alone(k).makespan.value <= sum);
    meet = meet || traffic->alone(k).makespan.value > 1.05 * longest;
  }
  CHECK(meet);
}

TEST_CASE("a step stops where NCCL finds no algorithm") {
  const Sets tree{adaptive, "nccl.version=2.28", "nccl.env.NCCL_ALGO=Tree"};
  const auto world = step_world("zero3", tree);
  const Program program = training_program(step_of(world));
  CHECK_THROWS_WITH(make_flow_traffic(world, program, 1)->alone(0),
                    Catch::Contains("no algorithm and protocol available for all_gather"));
  const auto reducing = step_world("zero3", both(tree, {"workload.parallel.zero=0"}));
  const Program all_reduce = training_program(step_of(reducing));
  CHECK(make_flow_traffic(reducing, all_reduce, 1)->alone(0).algorithm == "tree");
}

}  // namespace
}  // namespace fabricast
