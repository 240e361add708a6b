// Loads of single links: they add up to the bytes that a collective must move.
#include "fabricast/engine/link_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "fabricast/planner/planner.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

World world_of(const char* routing, int nodes = 16, const char* faults = "[]") {
  const std::string text = fmt::format(
      "fabricast: 1\nnode: {{gpu: h100-sxm}}\ncluster: {{nodes: {}}}\n"
      "fabric: {{kind: fat_tree, switch: {{ports: 32}}}}\nrouting: {{kind: {}}}\nfaults: {}\n"
      "workload: {{collective: all_reduce, sizes: [1GiB]}}\n",
      nodes, routing, faults);
  return build_world(parse_scenario(text, "loads.yaml", {}).scenario);
}

/// B that all NICs send, by the loads of their links.
double sent(const World& world, const LinkLoads& loads) {
  double bytes = 0;
  for (std::uint32_t e = 0; e < world.fabric()->endpoints(); ++e)
    bytes += static_cast<double>(loads.load[2 * e]) * world.fabric()->link_class(LinkId(2 * e)).rate.value *
             loads.makespan.value;
  return bytes;
}

TEST_CASE("the bytes of a ring appear on the links of the NICs, whatever the routing", "[engine]") {
  for (const char* routing : {"ecmp", "adaptive", "spray", "static"}) {
    CAPTURE(routing);
    const auto world = world_of(routing);
    const Plan plan =
        plan_collective(world.planner(), CollectiveOp::all_reduce, gib, Algorithm::ring, Protocol::simple);
    const LinkLoads loads = link_loads(world.setup(), plan, 1);
    REQUIRE(loads.load.size() == world.fabric()->links());
    // Each rank sends 2 (n - 1) / n of the buffer. Data that leave a node cross a NIC once for every channel.
    const double n = static_cast<double>(world.planner().comm.ranks());
    CHECK(sent(world, loads) == Approx(16.0 * 2 * (n - 1) / n * static_cast<double>(gib)).epsilon(0.02));
    for (const float load : loads.load) REQUIRE((load >= 0 && load <= 1.0001F));
    // What goes up must come down.
    double up = 0, down = 0;
    for (std::uint32_t l = 2 * world.fabric()->endpoints(); l < world.fabric()->links(); l += 2)
      up += static_cast<double>(loads.load[l]), down += static_cast<double>(loads.load[l + 1]);
    CHECK(up > 0);
    CHECK(up == Approx(down).epsilon(1e-5));
  }
}

TEST_CASE("spraying fills the uplinks of a leaf evenly, hashing does not", "[engine]") {
  const auto differ = [](const char* routing) {
    const auto world = world_of(routing);
    const Plan plan =
        plan_collective(world.planner(), CollectiveOp::all_reduce, gib, Algorithm::ring, Protocol::simple);
    const LinkLoads loads = link_loads(world.setup(), plan, 1);
    const Clos& clos = *world.fabric()->clos();
    float least = 2, most = 0;
    for (std::uint32_t j = 0; j < clos.leaf_up; ++j) {
      least = std::min(least, loads.load[clos.leaf_to_spine(0, j)]);
      most = std::max(most, loads.load[clos.leaf_to_spine(0, j)]);
    }
    return most - least;
  };
  CHECK(differ("spray") < 1e-6F);
  CHECK(differ("ecmp") > 0.05F);
}

TEST_CASE("a link that is down carries nothing", "[engine]") {
  for (const char* routing : {"ecmp", "adaptive", "spray"}) {
    const auto world = world_of(routing, 16, "[{link: leaf0-spine1, rate: 0}]");
    const Plan plan =
        plan_collective(world.planner(), CollectiveOp::all_reduce, gib, Algorithm::ring, Protocol::simple);
    const LinkLoads loads = link_loads(world.setup(), plan, 1);
    for (const LinkId link : world.fabric()->find_links("leaf0-spine1")) CHECK(loads.load[link.value] == 0);
  }
}

TEST_CASE("loads of other algorithms stay within the capacity of links", "[engine]") {
  const auto world = world_of("ecmp");
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::nvlstree}) {
    const Plan plan = plan_collective(world.planner(), CollectiveOp::all_reduce, gib, algorithm, Protocol::simple);
    const LinkLoads loads = link_loads(world.setup(), plan, 1);
    CHECK(*std::max_element(loads.load.begin(), loads.load.end()) > 0.1F);
    CHECK(*std::max_element(loads.load.begin(), loads.load.end()) <= 1.0001F);
  }
}

TEST_CASE("one node loads no fabric", "[engine]") {
  const auto world = world_of("ecmp", 1);
  CHECK(link_loads(world.setup(), plan_collective(world.planner(), CollectiveOp::all_reduce, gib), 1).load.empty());
}

}  // namespace
}  // namespace fabricast
