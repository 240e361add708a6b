// Bills against published designs and counts by hand.
#include <catch2/catch.hpp>

#include <chrono>

#include "fabricast/bill/bill.hpp"
#include "fabricast/core/file.hpp"
#include "support/scratch.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

std::string rail(int nodes, const std::string& more = "", const std::string& profile = "hgx-h100") {
  return "node: {profile: " + profile + "}\ncluster: {nodes: " + std::to_string(nodes) +
         "}\nfabric: {kind: rail_optimized, nodes_per_su: 32, switch: {ports: 64}}\nworkload: {}\n" + more;
}

Bill bill_at(const std::string& text, const std::vector<std::string>& set = {}) {
  return bill_of(test::world_of(text, set));
}

struct Published {
  int nodes;
  std::int64_t leaves, spines, cores, host_cables, spine_cables, core_cables;
};

void check_counts(const Bill& bill, const Published& p) {
  INFO(p.nodes << " nodes");
  CHECK(bill.switches(Tier::leaf) == p.leaves);
  CHECK(bill.switches(Tier::spine) == p.spines);
  CHECK(bill.switches(Tier::core) == p.cores);
  CHECK(bill.cables(Tier::leaf) == p.host_cables);
  CHECK(bill.cables(Tier::spine) == p.spine_cables);
  CHECK(bill.cables(Tier::core) == p.core_cables);
}

std::int64_t lines_of(const Bill& bill, Item item, Medium medium, int ports = 0) {
  std::int64_t sum = 0;
  for (const BillLine& l : bill.lines)
    if (l.item == item && l.medium == medium && (ports == 0 || l.ports == ports)) sum += l.count;
  return sum;
}

TEST_CASE("a DGX SuperPOD H100 of one to four units, with UFM [SuperPOD-H100]", "[bill]") {
  for (const Published& p : {Published{31, 8, 4, 0, 252, 256, 0}, Published{63, 16, 8, 0, 508, 512, 0},
                             Published{95, 24, 16, 0, 764, 768, 0}, Published{127, 32, 16, 0, 1020, 1024, 0}}) {
    const Bill bill = bill_at(rail(p.nodes, "site: {management_ports: 4}\n"));
    check_counts(bill, p);
    CHECK(bill.gpus == p.nodes * 8);
    // Every leaf has a host less than its ports, and UFM takes four of them.
    CHECK(bill.tiers.front().free() == p.leaves * 64 - p.nodes * 8 - 4 - p.spine_cables);
  }
}

TEST_CASE("larger DGX SuperPODs, H100 and B200 [SuperPOD-H100]", "[bill]") {
  for (const char* profile : {"hgx-h100", "hgx-b200"})
    for (const Published& p :
         {Published{64, 16, 8, 0, 512, 512, 0}, Published{128, 32, 16, 0, 1024, 1024, 0},
          Published{512, 128, 128, 64, 4096, 4096, 4096}, Published{1024, 256, 256, 128, 8192, 8192, 8192},
          Published{2048, 512, 512, 256, 16384, 16384, 16384}}) {
      const Bill bill = bill_at(rail(p.nodes, "", profile));
      check_counts(bill, p);
      for (const PortUse& use : bill.tiers) CHECK(use.free() == 0);
    }
}

const std::string hpn = R"(node: {gpu: h100-sxm, nics: {count: 16, rate: 200Gbps, link: roce}}
cluster: {nodes: 1920}
fabric: {kind: rail_optimized, switch: {ports: 128, rate: 400Gbps}, planes: 2, breakout: 2, leaf_up: 60, spine_up: 8,
  nodes_per_su: 128}
site: {spare_nodes: 120}
workload: {}
)";

TEST_CASE("an HPN 7.0 pod [Qian2024]", "[bill]") {
  const Bill bill = bill_at(hpn);
  // 15 segments of 8 rails in two planes; a cable for each port of 16 on 2,040 hosts.
  check_counts(bill, {1920, 240, 120, 0, 2040 * 16, 240 * 60, 0});
  CHECK(bill.gpus == 15360);
  CHECK(bill.spare_nodes * 8 == 15 * 64);
  CHECK(bill.planes == 2);
  // All of a leaf's 68 ports down are in use, and eight of each aggregation switch are left for the core.
  CHECK(bill.tiers[0].free() == 0);
  CHECK(bill.tiers[1].down == 120 * 120);
  CHECK(bill.tiers[1].free() == 120 * 8);
  CHECK(bill.count(Item::nic) == 2040 * 8);
  // One more spare host has no port.
  CHECK_THROWS_WITH(bill_at(hpn, {"site.spare_nodes=121"}), Catch::Contains("a leaf has ports for 136 hosts"));
}

TEST_CASE("two HPN pods under a core that is 15:1 oversubscribed", "[bill]") {
  const Bill bill = bill_at(hpn, {"cluster.nodes=3840", "site.spare_nodes=240", "fabric.grouping=pod"});
  CHECK(bill.switches(Tier::leaf) == 480);
  CHECK(bill.switches(Tier::spine) == 240);
  CHECK(bill.cables(Tier::spine) == 15 * bill.cables(Tier::core));
}

TEST_CASE("three tiers of 64-port switches with split ports [Jiang2024]", "[bill]") {
  const std::string text = R"(node: {gpu: a100-sxm, nics: {count: 8, rate: 200Gbps, link: roce}}
cluster: {nodes: 2048}
fabric: {kind: rail_optimized, switch: {ports: 64, rate: 400Gbps}, breakout: 2, nodes_per_su: 64, tiers: 3, grouping: pod}
workload: {}
)";
  // 32 sets of eight leaves with 64 hosts each; every tier passes on what it takes.
  const Bill full = bill_at(text);
  check_counts(full, {2048, 256, 256, 128, 16384, 8192, 8192});
  for (const PortUse& use : full.tiers) CHECK(use.free() == 0);
  // 12,288 GPUs: 96 cores would do by ports, but do not share 32 cables of a spine evenly.
  const Bill most = bill_at(text, {"cluster.nodes=1536"});
  check_counts(most, {1536, 192, 192, 128, 12288, 6144, 6144});
  CHECK(most.tiers.back().free() == 128 * 16);
}

TEST_CASE("lengths follow the floor plan", "[bill]") {
  // Eight racks of four hosts in a row; leaves in its middle, spines in a row of their own.
  const std::string site =
      "site: {nodes_per_rack: 4, racks_per_row: 8, rack_pitch: 1m, row_pitch: 3m, riser: 2m, slack: 0,\n"
      "  cables: [{medium: dac, up_to: 5m}, {medium: multimode, up_to: 7m}, {medium: single_mode, up_to: 50m}]}\n";
  const Bill bill = bill_at(rail(32, site));
  // Racks are 0.5, 1.5, 2.5 and 3.5 m away, on both sides, and the tray 2 m above: 4.5, 5.5, 6.5, 7.5 m.
  std::vector<std::int64_t> counts;
  std::vector<double> metres;
  for (const BillLine& l : bill.lines)
    if (l.item == Item::cable && l.tier == Tier::leaf) counts.push_back(l.count), metres.push_back(l.metres.value);
  CHECK(counts == std::vector<std::int64_t>{64, 128, 64});
  REQUIRE(metres.size() == 3);
  CHECK(metres[0] == Approx(64 * 4.5));
  CHECK(metres[1] == Approx(64 * 5.5 + 64 * 6.5));
  CHECK(metres[2] == Approx(64 * 7.5));
  // A transceiver in each host, and one for two ports of a leaf; none for copper.
  CHECK(lines_of(bill, Item::transceiver, Medium::dac) == 0);
  CHECK(lines_of(bill, Item::transceiver, Medium::multimode, 1) == 128);
  // The spines' row is the next: 4 + 3 m, all 256 cables, two ends of two ports in a cage.
  CHECK(lines_of(bill, Item::transceiver, Medium::multimode, 2) == 128 / 2 + 256 * 2 / 2);
  CHECK(bill.count(Item::rack) == 8 + 1 + 1);
  // Twin-port cages in hosts, and none in switches.
  const Bill other = bill_at(rail(32, site), {"site.nic_cage=2", "site.switch_cage=1"});
  CHECK(lines_of(other, Item::transceiver, Medium::multimode, 2) == 128 / 2);
  CHECK(lines_of(other, Item::transceiver, Medium::multimode, 1) == 128 + 256 * 2);
}

TEST_CASE("leaves in the racks of nodes use copper inside a rack", "[bill]") {
  const Bill bill = bill_at(R"(node: {profile: hgx-h100-roce}
cluster: {nodes: 16}
fabric: {kind: fat_tree, switch: {ports: 64}}
site: {leaves: node_rack, nodes_per_rack: 4}
workload: {}
)");
  CHECK(lines_of(bill, Item::cable, Medium::dac) == 128);
  CHECK(lines_of(bill, Item::transceiver, Medium::multimode) == 2 * bill.cables(Tier::spine));
  CHECK_THROWS_WITH(bill_at(rail(32, "site: {cables: [{medium: dac, up_to: 3m}]}\n")),
                    Catch::Contains("are longer than any class"));
}

TEST_CASE("the power of hosts with their NICs is that of the data sheet", "[bill]") {
  const Bill bill = bill_at(rail(32));
  double hosts = 0;
  for (const BillLine& l : bill.lines)
    if (l.item == Item::node || l.item == Item::nic) hosts += l.watts();
  CHECK(hosts == Approx(32 * 10.2e3));
  CHECK(bill.equipment_watts() > hosts);
  CHECK(bill.mean_watts() == Approx(1.3 * bill.equipment_watts()));
  // A lower limit of the GPUs lowers it by as much.
  const Bill capped = bill_at(rail(32), {"node.power=500W"});
  CHECK(bill.equipment_watts() - capped.equipment_watts() == Approx(32 * 8 * 200));
}

TEST_CASE("one host has no fabric; an NVLink domain of several has one", "[bill]") {
  const Bill one = bill_at("node: {profile: hgx-h100}\ncluster: {nodes: 1}\nworkload: {}\n");
  CHECK(one.switches() == 0);
  CHECK(one.cables() == 0);
  CHECK(one.count(Item::nic) == 8);
  CHECK(one.count(Item::rack) == 1);
  const Bill rack =
      bill_at("node: {profile: gb200-tray}\nnvlink_domain: {nodes: 18}\ncluster: {nodes: 18}\nworkload: {}\n");
  CHECK(rack.cables(Tier::leaf) == 72);
  CHECK(rack.count(Item::rack) > 1);
}

TEST_CASE("bills of every kind of fabric count its cables", "[bill]") {
  for (const char* kind : {"single_switch", "leaf_spine", "fat_tree", "rail_optimized", "rail_only"}) {
    INFO(kind);
    const auto world = test::world_of(
        "node: {profile: hgx-h100}\ncluster: {nodes: 6}\nworkload: {}\nfabric: {kind: " + std::string(kind) + "}\n");
    const Bill bill = bill_of(world);
    CHECK(bill.cables() == world.fabric()->cables());
    CHECK(bill.switches() == world.fabric()->switches());
    std::int64_t ends = 0;
    for (const PortUse& use : bill.tiers) ends += use.down + use.up;
    CHECK(ends == 2 * bill.cables() - bill.cables(Tier::leaf));
  }
}

TEST_CASE("a fabric from a file is counted cable by cable, each at its rate", "[bill]") {
  const Scratch folder;
  write_file(folder / "f.yaml", R"(switches: [tor0, tor1, {name: agg0, tier: spine}]
links:
  - {from: node0.nic0, to: tor0}
  - {from: node1.nic0, to: tor1}
  - {from: tor0, to: agg0, rate: 400Gbps, count: 2}
  - {from: tor1, to: agg0, count: 3}
)");
  const std::string text =
      "node: {gpu: h100-sxm, nics: {count: 1, rate: 200Gbps, link: roce}}\ncluster: {nodes: 2}\n"
      "fabric: {kind: file, path: " +
      folder / "f.yaml" + ", switch: {ports: 40}}\nworkload: {}\n";
  const Bill bill = bill_at(text);
  check_counts(bill, {2, 2, 1, 0, 2, 5, 0});
  std::int64_t fast = 0;
  for (const BillLine& l : bill.lines)
    if (l.item == Item::cable && l.rate.value == Approx(50e9)) fast += l.count;
  CHECK(fast == 2);
  CHECK(bill.tiers[0].up == 5);
  CHECK(bill.tiers[1].free() == 35);
  CHECK_THROWS_WITH(bill_at(text + "site: {spare_nodes: 1}\n"), Catch::Contains("which lists all hosts"));
}

TEST_CASE("planes multiply switches and cables, and add ports of NICs", "[bill]") {
  for (const char* kind : {"fat_tree", "rail_optimized", "rail_only"}) {
    INFO(kind);
    const std::string text =
        "node: {profile: hgx-h100-roce}\ncluster: {nodes: 100}\nworkload: {}\nfabric: {kind: " + std::string(kind) +
        ", switch: {ports: 64, rate: 400Gbps}}\n";
    const Bill one = bill_at(text), two = bill_at(text, {"fabric.planes=2"});
    for (const Tier tier : {Tier::leaf, Tier::spine, Tier::core}) {
      CHECK(two.switches(tier) == 2 * one.switches(tier));
      CHECK(two.cables(tier) == 2 * one.cables(tier));
    }
    CHECK(two.count(Item::nic) == one.count(Item::nic));
    // A port of each of two planes has half of the NIC's rate.
    for (const BillLine& l : two.lines)
      if (l.item == Item::cable && l.tier == Tier::leaf) CHECK(l.rate.value == Approx(25e9));
  }
}

TEST_CASE("ports of one card that NCCL counts as one NIC have separate cables and switch ports", "[bill]") {
  const Bill bill = bill_at("node: {profile: p5}\ncluster: {nodes: 16}\nworkload: {}\n");
  CHECK(bill.cables(Tier::leaf) == 16 * 32);
  REQUIRE(bill.notes.size() == 1);
  CHECK_THAT(bill.notes.front(), Catch::Contains("would need 96"));
}

TEST_CASE("a million GPUs take milliseconds", "[bill]") {
  const auto world = test::world_of(
      "node: {profile: hgx-h100}\ncluster: {nodes: 131072}\nworkload: {}\n"
      "fabric: {kind: rail_optimized, switch: {ports: 256}}\n");
  const auto begin = std::chrono::steady_clock::now();
  const Bill bill = bill_of(world);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CHECK(bill.cables() == world.fabric()->cables());
#ifdef FABRICAST_TEST_SPEED
  CHECK(seconds < 0.5);
#else
  (void)seconds;
#endif
}

}  // namespace
}  // namespace fabricast
