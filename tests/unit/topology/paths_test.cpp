// The arithmetic of Clos networks against their graphs.
#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using test::demand_of, test::fabric_of, test::Keys;

struct Case {
  const char* kind;
  std::uint32_t nodes, ports;
  Keys keys;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"single_switch", 9, 2, {}},
      {"leaf_spine", 13, 2, {{"leaves", "4"}, {"spines", "3"}, {"cables", "2"}}},
      {"fat_tree", 16, 1, {{"switch.ports", "4"}}},
      {"fat_tree", 100, 1, {{"switch.ports", "8"}}},
      {"fat_tree", 37, 2, {{"switch.ports", "12"}, {"oversubscription", "2"}}},
      {"fat_tree", 60, 1, {{"switch.ports", "8"}, {"oversubscription", "3"}, {"spine_oversubscription", "1.7"}}},
      {"fat_tree", 20, 1, {{"switch.ports", "8"}, {"tiers", "3"}}},
      {"rail_optimized", 31, 8, {}},
      {"rail_optimized", 40, 4, {{"switch.ports", "12"}, {"nodes_per_su", "4"}}},
      {"rail_optimized", 40, 4, {{"switch.ports", "12"}, {"grouping", "pod"}}},
      {"rail_optimized", 70, 2, {{"switch.ports", "16"}, {"oversubscription", "1.5"}, {"tiers", "3"}}},
      {"rail_only", 50, 3, {{"switch.ports", "8"}}},
      {"rail_only", 7, 4, {}},
  };
  return list;
}

TEST_CASE("routes have as many hops as breadth-first search", "[topology]") {
  for (const Case& c : cases()) {
    const Fabric fabric = fabric_of(c.kind, demand_of(c.nodes, c.ports), c.keys);
    const LinkState state;
    const auto router = test::router_of("ecmp", fabric, state);
    INFO(c.kind << ", " << c.nodes << " nodes of " << c.ports);
    Path path;
    for (std::uint32_t from = 0; from < fabric.endpoints(); from += 3) {
      const std::vector<int> hops = test::hops_from(fabric, from);
      for (std::uint32_t to = 0; to < fabric.endpoints(); ++to) {
        if (to == from) continue;
        const bool found = router->route({from, to, 1, 1}, path);
        REQUIRE(found == (hops[to] >= 0));
        if (!found) continue;
        REQUIRE(static_cast<int>(path.resources.size()) == hops[to]);
        REQUIRE(test::joins(fabric, path.resources, from, to));
        double latency = 0;
        for (const std::uint32_t l : path.resources) latency += fabric.link_class(LinkId(l)).latency.value;
        REQUIRE(path.latency.value == Approx(latency));
      }
    }
  }
}

TEST_CASE("rails of a rail-only fabric do not meet", "[topology]") {
  const Fabric fabric = fabric_of("rail_only", demand_of(20, 3), {{"switch.ports", "8"}});
  const std::vector<int> hops = test::hops_from(fabric, 0);
  for (std::uint32_t e = 1; e < fabric.endpoints(); ++e) CHECK((hops[e] >= 0) == (e % 3 == 0));
}

TEST_CASE("equal rails of a unit are one switch apart, also under cores within their rail", "[topology]") {
  const Fabric two = fabric_of("rail_optimized", demand_of(64, 8));
  const std::vector<int> hops = test::hops_from(two, 0);
  CHECK(hops[8] == 2);       // node 1, same rail, same unit
  CHECK(hops[1] == 4);       // another rail
  CHECK(hops[40 * 8] == 4);  // another unit
  const Fabric three = fabric_of("rail_optimized", demand_of(512, 8));
  const std::vector<int> far = test::hops_from(three, 0);
  CHECK(far[500 * 8] == 4);  // the spines of a group serve one rail
  CHECK(far[500 * 8 + 1] == 6);
  const Fabric pods = fabric_of("rail_optimized", demand_of(512, 8), {{"grouping", "pod"}});
  const std::vector<int> across = test::hops_from(pods, 0);
  CHECK(across[500 * 8] == 6);
  CHECK(across[8 + 1] == 4);
}

/// Ports in use per switch never exceed the radix, every NIC has one cable, and no leaf or spine has fewer cables up
/// than its oversubscription allows.
void check_graph(const Fabric& fabric, std::uint32_t ports, double oversubscription, bool unlimited) {
  const Fabric::Adjacency out(fabric);
  std::vector<std::uint32_t> up(fabric.vertices(), 0), down(fabric.vertices(), 0);
  for (std::uint32_t l = 0; l < fabric.links(); l += 2) {
    const Fabric::Link ends = fabric.link(LinkId(l));
    REQUIRE((ends.from.value < fabric.vertices() && ends.to.value < fabric.vertices()));
    REQUIRE(fabric.link(LinkId(l + 1)).from == ends.to);
    ++up[ends.from.value], ++down[ends.to.value];
    if (!fabric.is_endpoint(ends.from))
      REQUIRE(static_cast<int>(fabric.tier(ends.to)) == static_cast<int>(fabric.tier(ends.from)) + 1);
  }
  for (std::uint32_t v = 0; v < fabric.vertices(); ++v) {
    REQUIRE(out.out(VertexId(v)).size() == up[v] + down[v]);
    if (v < fabric.endpoints()) {
      REQUIRE(up[v] + down[v] == 1);
      continue;
    }
    if (unlimited) continue;
    REQUIRE(up[v] + down[v] <= ports);
    if (fabric.tier(VertexId(v)) == Tier::leaf && fabric.switches_in(Tier::spine) > 0)
      REQUIRE(down[v] <= up[v] * oversubscription + 1e-9);
  }
}

TEST_CASE("random demands give fabrics that can be built", "[topology]") {
  Rng rng(7);
  int built = 0;
  for (int i = 0; i < 400; ++i) {
    const char* kind = std::array{"fat_tree", "rail_optimized", "rail_only", "single_switch"}[rng.below(4)];
    const auto ports = static_cast<std::uint32_t>(4 + rng.below(37));
    const auto nodes = static_cast<std::uint32_t>(1 + rng.below(300)),
               nics = static_cast<std::uint32_t>(1 + rng.below(9));
    const double oversubscription = 1 + static_cast<double>(rng.below(4));
    Keys keys{{"switch.ports", std::to_string(ports)}};
    const bool single = std::string_view(kind) == "single_switch";
    if (!single) keys["oversubscription"] = std::to_string(oversubscription);
    if (!single) keys["tiers"] = std::to_string(rng.below(4));
    if (std::string_view(kind).starts_with("rail") && rng.below(2))
      keys["nodes_per_su"] = std::to_string(1 + rng.below(60));
    INFO(kind << " of " << ports << " ports for " << nodes << " nodes of " << nics << ", " << keys["tiers"]
              << " tiers, " << keys["nodes_per_su"] << " per unit, 1:" << oversubscription);
    if (keys["nodes_per_su"].empty()) keys.erase("nodes_per_su");
    if (single) keys.erase("tiers");
    try {
      const Fabric fabric = fabric_of(kind, demand_of(nodes, nics), keys);
      ++built;
      check_graph(fabric, ports, oversubscription, single);
      const std::vector<int> hops = test::hops_from(fabric, 0);
      for (std::uint32_t e = 0; e < fabric.endpoints(); ++e)
        REQUIRE((hops[e] >= 0) == (std::string_view(kind) != "rail_only" || e % nics == 0));
      if (!single && keys["tiers"] != "0") {
        const std::uint32_t tiers = fabric.switches_in(Tier::core) > 0    ? 3
                                    : fabric.switches_in(Tier::spine) > 0 ? 2
                                                                          : 1;
        REQUIRE(tiers <= static_cast<std::uint32_t>(std::stoi(keys["tiers"])));
      }
    } catch (const UserError&) {
      // Too large for such switches; that it must be is checked by the closed forms.
    }
  }
  CHECK(built > 150);
}

TEST_CASE("demands that do not fit are refused", "[topology]") {
  const auto refusal = [](const char* kind, std::uint32_t nodes, std::uint32_t nics, const Keys& keys) {
    try {
      fabric_of(kind, demand_of(nodes, nics), keys);
    } catch (const UserError& e) { return e.diagnostics().front().path + ": " + e.diagnostics().front().message; }
    return std::string("built");
  };
  CHECK(refusal("single_switch", 65, 1, {{"unlimited_ports", "false"}}) ==
        "fabric.switch.ports: 65 NIC ports do not fit on one 64-port switch");
  CHECK(refusal("leaf_spine", 64, 1, {{"leaves", "2"}, {"spines", "33"}}) ==
        "fabric.switch.ports: a leaf needs 65 ports but has 64");
  CHECK(refusal("leaf_spine", 10, 1, {{"leaves", "65"}, {"spines", "1"}}) ==
        "fabric.switch.ports: a spine needs 65 ports but has 64");
  CHECK_THAT(refusal("leaf_spine", 10, 1, {{"leaves", "2"}, {"nodes_per_leaf", "4"}}),
             Catch::StartsWith("fabric.nodes_per_leaf: "));
  CHECK(refusal("fat_tree", 4, 8, {{"switch.ports", "8"}}) ==
        "fabric.switch.ports: a node has 8 NIC ports, but a leaf has only 4 ports for nodes");
  CHECK(refusal("fat_tree", 100, 1, {{"tiers", "1"}}) ==
        "fabric.tiers: 100 NIC ports do not fit in one tier of 64-port switches");
  CHECK(refusal("fat_tree", 2049, 1, {{"tiers", "2"}}) ==
        "fabric.switch.ports: 65 leaves do not fit in two tiers of 64-port switches");
  CHECK(refusal("rail_optimized", 64, 8, {{"nodes_per_su", "33"}}) ==
        "fabric.nodes_per_su: 33 nodes do not fit on a leaf, which has 32 ports for nodes");
  CHECK(refusal("rail_only", 64, 8, {{"nodes_per_su", "33"}}) ==
        "fabric.nodes_per_su: 33 nodes do not fit on a leaf, which has 32 ports for nodes");
  CHECK(refusal("rail_only", 65, 8, {{"tiers", "1"}}) == "fabric.tiers: 3 leaves do not fit in one tier of switches");
  CHECK(refusal("rail_optimized", 8, 8, {{"tiers", "1"}}) ==
        "fabric.tiers: 8 leaves do not fit in one tier of switches");
}

}  // namespace
}  // namespace fabricast
