// Switches and cables of the topologies against closed forms and published tables.
#include <catch2/catch.hpp>

#include "sim/topology/sizing.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using test::demand_of, test::fabric_of, test::Keys;

struct Counts {
  std::uint32_t leaves, spines, cores, endpoint_cables, leaf_cables, spine_cables;
  bool operator==(const Counts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.leaves << " leaves, " << c.spines << " spines, " << c.cores << " cores; cables " << c.endpoint_cables
             << ", " << c.leaf_cables << ", " << c.spine_cables;
}
Counts counts(const Fabric& f) {
  return {f.switches_in(Tier::leaf),  f.switches_in(Tier::spine),  f.switches_in(Tier::core),
          f.cables_below(Tier::leaf), f.cables_below(Tier::spine), f.cables_below(Tier::core)};
}

TEST_CASE("the full k-ary fat tree [AlFares2008]", "[topology]") {
  for (std::uint32_t k = 4; k <= 16; k += 2) {
    const std::uint32_t hosts = k * k * k / 4;
    const Fabric fabric = fabric_of("fat_tree", demand_of(hosts, 1), {{"switch.ports", std::to_string(k)}});
    INFO("k = " << k);
    CHECK(counts(fabric) == Counts{k * k / 2, k * k / 2, k * k / 4, hosts, hosts, hosts});
    CHECK(fabric.switches() == 5 * k * k / 4);
    CHECK(fabric.endpoints() == hosts);
  }
}

TEST_CASE("one NIC more than a full fat tree does not fit", "[topology]") {
  for (const std::uint32_t k : {4U, 8U, 16U})
    CHECK_THROWS_WITH(fabric_of("fat_tree", demand_of(k * k * k / 4 + 1, 1), {{"switch.ports", std::to_string(k)}}),
                      Catch::Contains("do not fit in three tiers"));
}

TEST_CASE("partly filled and oversubscribed fat trees", "[topology]") {
  // 100 hosts, 8 ports: 25 leaves of 4 in 7 groups of 4 leaves and 4 spines; 4 planes of 4 cores.
  CHECK(counts(fabric_of("fat_tree", demand_of(100, 1), {{"switch.ports", "8"}})) == Counts{28, 28, 16, 100, 112, 112});
  // Two tiers: 64 ports, 32 down.
  CHECK(counts(fabric_of("fat_tree", demand_of(2048, 1))) == Counts{64, 32, 0, 2048, 2048, 0});
  CHECK(counts(fabric_of("fat_tree", demand_of(1000, 1))) == Counts{32, 16, 0, 1000, 1024, 0});
  // 3 : 1 on 64 ports: 48 down, 16 up.
  CHECK(counts(fabric_of("fat_tree", demand_of(768, 1), {{"oversubscription", "3"}})) == Counts{16, 4, 0, 768, 256, 0});
  // Eight NICs a node: four nodes at a leaf of 32.
  CHECK(counts(fabric_of("fat_tree", demand_of(16, 8))) == Counts{4, 2, 0, 128, 128, 0});
  // One switch is enough.
  CHECK(counts(fabric_of("fat_tree", demand_of(64, 1))) == Counts{1, 0, 0, 64, 0, 0});
}

TEST_CASE("a switch's ports are divided as whole ports allow, never fewer up than asked", "[topology]") {
  CHECK(split_ports(64, 1).down == 32);
  CHECK(split_ports(64, 3).down == 48);
  CHECK(split_ports(64, 2).up == 22);
  CHECK(split_ports(64, 2).down == 42);
  CHECK(split_ports(36, 1).up == 18);
}

TEST_CASE("the fewest upper switches that share all cables evenly", "[topology]") {
  CHECK(fewest_uppers(16, 32, 64) == 8);
  CHECK(fewest_uppers(24, 32, 64) == 16);  // 12 would do, but does not divide 32
  CHECK(fewest_uppers(32, 32, 64) == 16);
  CHECK(fewest_uppers(64, 32, 64) == 32);
  CHECK(fewest_uppers(65, 32, 64) == 0);
  CHECK(fewest_uppers(1, 32, 64) == 1);
}

TEST_CASE("leaf-spine by the numbers given", "[topology]") {
  const Fabric fabric = fabric_of("leaf_spine", demand_of(48, 2),
                                  {{"leaves", "6"}, {"spines", "4"}, {"cables", "3"}, {"switch.ports", "32"}});
  CHECK(counts(fabric) == Counts{6, 4, 0, 96, 6 * 4 * 3, 0});
  CHECK(fabric.name(LinkId(fabric.clos()->leaf_to_spine(2, 4))) == "leaf2-spine1#1");
}

TEST_CASE("rail-optimized units up to four: the table of [SuperPOD-H100]", "[topology]") {
  const std::vector<std::pair<std::uint32_t, Counts>> table = {{31, {8, 4, 0, 248, 256, 0}},
                                                               {63, {16, 8, 0, 504, 512, 0}},
                                                               {95, {24, 16, 0, 760, 768, 0}},
                                                               {127, {32, 16, 0, 1016, 1024, 0}}};
  for (const auto& [nodes, expected] : table) {
    INFO(nodes << " nodes");
    CHECK(counts(fabric_of("rail_optimized", demand_of(nodes, 8), {{"nodes_per_su", "32"}})) == expected);
  }
}

TEST_CASE("rail-optimized units up to 64: the table of [SuperPOD-H100]", "[topology]") {
  const std::vector<std::pair<std::uint32_t, Counts>> table = {{128, {32, 16, 0, 1024, 1024, 0}},
                                                               {256, {64, 32, 0, 2048, 2048, 0}},
                                                               {512, {128, 128, 64, 4096, 4096, 4096}},
                                                               {1024, {256, 256, 128, 8192, 8192, 8192}},
                                                               {2048, {512, 512, 256, 16384, 16384, 16384}}};
  for (const auto& [nodes, expected] : table)
    for (const char* grouping : {"rail", "pod"}) {
      INFO(nodes << " nodes, grouping " << grouping);
      CHECK(counts(fabric_of("rail_optimized", demand_of(nodes, 8), {{"grouping", grouping}})) == expected);
    }
}

TEST_CASE("rail-only fabrics are one network per rail", "[topology]") {
  // 256 nodes: 8 leaves per rail of 32 nodes each, joined by 4 spines.
  CHECK(counts(fabric_of("rail_only", demand_of(256, 8))) == Counts{64, 32, 0, 2048, 2048, 0});
  CHECK(counts(fabric_of("rail_only", demand_of(64, 8))) == Counts{8, 0, 0, 512, 0, 0});
}

TEST_CASE("islands of rails that cores join", "[topology]") {
  // Four islands of 64 nodes: two units of 32, so 16 leaves of 32 uplinks each. Spines at 3 : 1 have 48 ports down, 16 up:
  // 16 x 32 / 48 is more than 10, and 16 is the next divisor of 32.
  const Keys keys = {{"nodes_per_island", "64"}, {"spine_oversubscription", "3"}};
  const Fabric fabric = fabric_of("rail_optimized", demand_of(256, 8), keys);
  CHECK(counts(fabric) == Counts{64, 64, 16, 2048, 2048, 4 * 16 * 16});
  const Clos& clos = *fabric.clos();
  CHECK(clos.islands() == 1);
  // All rails of a node are in the group of its island, and no other.
  for (std::uint32_t node = 0; node < 256; ++node)
    for (std::uint32_t port = 0; port < 8; ++port) REQUIRE(clos.group_of(clos.leaf_of(node * 8 + port)) == node / 64);
  // With two tiers nothing joins islands.
  const Fabric apart = fabric_of("rail_optimized", demand_of(256, 8), {{"nodes_per_island", "64"}, {"tiers", "2"}});
  CHECK(counts(apart) == Counts{64, 32, 0, 2048, 2048, 0});
  CHECK(apart.clos()->islands() == 4);
  const LinkState state;
  Path path;
  CHECK(test::router_of("ecmp", apart, state)->route({0, 63 * 8 + 3, 1, 2}, path));
  CHECK_FALSE(test::router_of("ecmp", apart, state)->route({0, 64 * 8, 1, 2}, path));
  CHECK(test::router_of("ecmp", fabric, state)->route({0, 64 * 8 + 3, 1, 2}, path));
  CHECK(path.resources.size() == 6);
  // Rails only: two spines of each rail and island, and a core of each rail for each of the two: 4 x 16 = 64 ports.
  const Fabric rails = fabric_of("rail_only", demand_of(256, 8), keys);
  CHECK(counts(rails) == Counts{64, 64, 16, 2048, 2048, 64 * 16});
  CHECK(rails.clos()->islands() == 8);
  CHECK(test::router_of("ecmp", rails, state)->route({0, 200 * 8, 1, 2}, path));
  CHECK(path.resources.size() == 6);
  CHECK_FALSE(test::router_of("ecmp", rails, state)->route({0, 1, 1, 2}, path));
  // A whole number of units.
  CHECK_THROWS_WITH(
      fabric_of("rail_optimized", demand_of(256, 8), {{"nodes_per_island", "64"}, {"nodes_per_su", "24"}}),
      Catch::Contains("not a whole number of units of 24"));
  CHECK_THROWS_WITH(fabric_of("rail_only", demand_of(256, 8), {{"nodes_per_island", "80"}, {"nodes_per_su", "40"}}),
                    Catch::Contains("40 nodes do not fit on a leaf, which has 32 ports"));
}

TEST_CASE("a core of an island that carries an alltoall is as busy as it is oversubscribed", "[topology]") {
  // Two islands of n NIC ports each: n^2 flows in each direction over n / r cables to the cores, n r per cable.
  for (const int r : {1, 3, 7}) {
    const Fabric fabric =
        fabric_of("rail_optimized", demand_of(32, 4),
                  {{"nodes_per_island", "16"}, {"switch.ports", "32"}, {"spine_oversubscription", std::to_string(r)}});
    const Clos& clos = *fabric.clos();
    const LinkState state;
    const auto router = test::router_of("adaptive", fabric, state);
    std::vector<double> load(fabric.links() + router->bundles(), 0);
    Path path;
    for (std::uint32_t from = 0; from < 128; ++from)
      for (std::uint32_t to = 0; to < 128; ++to) {
        if (from == to) continue;
        REQUIRE(router->route({from, to, 1, 2}, path));
        for (const std::uint32_t resource : path.resources) load[resource] += 1;
      }
    const std::uint32_t up = fabric.links() + 2 * clos.leaves;  // the cables of island 0 to the cores
    CHECK(load[up] == 64 * 64);
    const double cables = router->bundle(up - fabric.links()).count;
    CHECK(cables == clos.spines_per_group * clos.spine_up);
    // Whole ports and whole groups never make it worse than asked.
    CHECK(cables * r >= 64);
  }
}

TEST_CASE("the counts of published clusters of Ethernet", "[topology]") {
  // xAI's first 100,000 GPUs have SN5600 switches in three tiers [NVIDIA-Colossus], here 128 ports of 400 Gb/s each and a leaf of
  // each rail for 64 nodes, as in NVIDIA's reference designs. Published are tiers and GPUs, not switches.
  const Keys keys = {{"switch.ports", "128"}};
  const Fabric colossus = fabric_of("rail_optimized", demand_of(12500, 8), keys);
  CHECK(colossus.endpoints() == 100000);
  CHECK(colossus.switches_in(Tier::core) > 0);
  // 196 units of eight leaves; no tier has fewer cables than NIC ports.
  CHECK(colossus.switches_in(Tier::leaf) >= 196 * 8);
  CHECK(colossus.cables_below(Tier::spine) >= 100000);
  CHECK(colossus.cables_below(Tier::core) >= 100000);
  CHECK_THROWS(fabric_of("rail_optimized", demand_of(12500, 8), {{"switch.ports", "128"}, {"tiers", "2"}}));
  // A pod of Meta's RoCE cluster: 3,072 GPUs in 192 racks of two nodes with a leaf each, not blocking [Meta-24k]; eight
  // pods make 24,576. Its leaves and spines have different ports, so the numbers of cables are an example.
  const Fabric pod = fabric_of("leaf_spine", demand_of(384, 8),
                               {{"leaves", "192"}, {"spines", "16"}, {"nodes_per_leaf", "2"}, {"switch.ports", "192"}});
  CHECK(pod.endpoints() == 3072);
  CHECK(8 * pod.endpoints() == 24576);
  CHECK(counts(pod) == Counts{192, 16, 0, 3072, 3072, 0});
}

TEST_CASE("ports given by hand, split ports and planes", "[topology]") {
  // A pod of [Qian2024], a plane of two: 68 ports of 400 Gb/s down as 136 of 200, 60 up.
  FabricDemand demand = demand_of(15 * 136, 8);
  const Keys keys = {{"switch.ports", "128"}, {"switch.rate", "400Gbps"}, {"breakout", "2"},
                     {"planes", "2"},         {"leaf_up", "60"},          {"spine_up", "8"}};
  const Fabric pod = fabric_of("rail_optimized", demand, keys);
  CHECK(counts(pod) == Counts{120, 60, 0, 15 * 136 * 8, 120 * 60, 0});
  CHECK(pod.clos()->planes == 2);
  // Links carry what both planes carry.
  CHECK(pod.link_class(LinkId(pod.clos()->leaf_to_spine(0, 0))).rate.value == Approx(100e9));
  CHECK(pod.link_class(LinkId(Clos::endpoint_up(0))).rate.value == Approx(50e9));
  // A segment more has no port at the spines, and takes a third tier.
  CHECK(fabric_of("rail_optimized", demand_of(16 * 136, 8), keys).switches_in(Tier::core) > 0);
  // A NIC of 400 Gb/s in each plane has links of the 200 that are left of a leaf's port.
  demand.port_rate = BytesPerSecond{100e9};
  CHECK(fabric_of("rail_optimized", demand, keys).link_class(LinkId(Clos::endpoint_up(0))).rate.value == Approx(50e9));
  CHECK_THROWS_WITH(fabric_of("fat_tree", demand_of(16, 8), {{"leaf_up", "64"}}), Catch::Contains("no port is left"));
}

TEST_CASE("a NIC's link runs at the slower of its ends", "[topology]") {
  const auto rate = [](const char* kind, double nic, const Keys& keys, int cables = 1) {
    FabricDemand demand = demand_of(16, 1);
    demand.port_rate = BytesPerSecond{nic}, demand.cables_per_port = cables;
    return fabric_of(kind, demand, keys).link_class(LinkId(Clos::endpoint_up(3))).rate.value;
  };
  const Keys slow = {{"switch.rate", "100Gbps"}}, fast = {{"switch.rate", "800Gbps"}};
  for (const char* kind : {"single_switch", "leaf_spine", "fat_tree", "rail_optimized", "rail_only"}) {
    CAPTURE(kind);
    CHECK(rate(kind, 50e9, slow) == Approx(12.5e9));
    CHECK(rate(kind, 50e9, slow, 2) == Approx(25e9));  // two ports of a card that count as one
    CHECK(rate(kind, 50e9, fast) == Approx(50e9));
  }
  // A faster port, split: by two there is enough for a NIC, by four there is not.
  CHECK(rate("fat_tree", 50e9, {{"switch.rate", "800Gbps"}, {"breakout", "2"}}) == Approx(50e9));
  CHECK(rate("fat_tree", 50e9, {{"switch.rate", "800Gbps"}, {"breakout", "4"}}) == Approx(25e9));
  CHECK(rate("rail_only", 50e9, {{"switch.rate", "100Gbps"}, {"planes", "2"}}) == Approx(25e9));
}

TEST_CASE("every leaf belongs to the block whose nodes hang off it", "[topology]") {
  for (const char* kind : {"fat_tree", "rail_optimized", "rail_only"})
    for (const std::uint32_t nodes : {6U, 40U, 300U, 700U}) {
      const Fabric fabric = fabric_of(kind, demand_of(nodes, 8));
      const Clos& clos = *fabric.clos();
      INFO(kind << " " << nodes);
      bool all = true;
      for (std::uint32_t e = 0; e < clos.endpoints; ++e)
        all &= clos.block_of_leaf(clos.leaf_of(e)) == e / 8 / clos.nodes_per_block;
      CHECK(all);
    }
}

TEST_CASE("link classes: rates, efficiency and latency", "[topology]") {
  FabricDemand demand = demand_of(8, 1);
  demand.port_rate = BytesPerSecond{25e9}, demand.header_efficiency = .98, demand.nic_efficiency = .9;
  const Fabric fabric =
      fabric_of("leaf_spine", demand, {{"switch.rate", "400Gbps"}, {"switch.latency", "300ns"}, {"cable", "10m"}});
  const Clos& clos = *fabric.clos();
  const LinkClass& up = fabric.link_class(LinkId(Clos::endpoint_up(3)));
  const LinkClass& down = fabric.link_class(LinkId(Clos::endpoint_down(3)));
  CHECK(up.rate.value == Approx(25e9 * .98 * .9));
  CHECK(down.rate.value == Approx(25e9 * .98 * .9));
  CHECK(up.latency.value == Approx(10 * 4.9e-9 + 300e-9));
  CHECK(down.latency.value == Approx(10 * 4.9e-9));
  const LinkClass& between = fabric.link_class(LinkId(clos.leaf_to_spine(1, 0)));
  CHECK(between.rate.value == Approx(50e9 * .98));
  CHECK(between.latency.value == Approx(10 * 4.9e-9 + 300e-9));
}

}  // namespace
}  // namespace fabricast
