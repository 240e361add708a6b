#include "fabricast/fabric/fabric.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/routing/routing.hpp"

namespace fabricast {
namespace {

const LinkClass cable{LinkKind::infiniband, BytesPerSecond{50e9}, Seconds{250e-9}};

/// Two leaves of two nodes with two ports, two spines by two cables each, two groups under two cores.
Clos small() {
  Clos clos;
  clos.endpoints = 16, clos.ports_per_node = 2, clos.nodes_per_block = 2;
  clos.leaves = 4, clos.leaves_per_group = 2, clos.groups = 2, clos.groups_per_island = 2;
  clos.leaf_up = 4, clos.leaf_spine_cables = 2, clos.spines_per_group = 2;
  clos.spine_up = 2, clos.cores_per_plane = 2;
  return clos;
}
Fabric small_fabric() {
  const FabricBuilder::TierClasses both{cable, cable};
  return FabricBuilder::build_clos(small(), 8, std::array{both, both, both});
}

TEST_CASE("the numbering of a Clos network is that of its graph", "[fabric]") {
  const Clos clos = small();
  const Fabric fabric = small_fabric();
  CHECK(clos.switches() == 4 + 4 + 4);
  CHECK(fabric.switches() == clos.switches());
  CHECK(fabric.cables() == clos.cables());
  CHECK(clos.cables() == 16 + 16 + 8);
  const std::uint32_t leaf0 = 16, spine0 = 20, core0 = 24;
  for (std::uint32_t e = 0; e < 16; ++e) {
    CHECK(fabric.link(LinkId(Clos::endpoint_up(e))).from.value == e);
    CHECK(fabric.link(LinkId(Clos::endpoint_up(e))).to.value == leaf0 + e / 4);
    CHECK(fabric.link(LinkId(Clos::endpoint_down(e))).to.value == e);
  }
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf)
    for (std::uint32_t j = 0; j < 4; ++j) {
      const Fabric::Link up = fabric.link(LinkId(clos.leaf_to_spine(leaf, j)));
      CHECK(up.from.value == leaf0 + leaf);
      CHECK(up.to.value == spine0 + leaf / 2 * 2 + j / 2);
      CHECK(fabric.link(LinkId(clos.spine_to_leaf(leaf, j / 2, j % 2))).to.value == leaf0 + leaf);
    }
  for (std::uint32_t spine = 0; spine < 4; ++spine)
    for (std::uint32_t j = 0; j < 2; ++j) {
      const Fabric::Link up = fabric.link(LinkId(clos.spine_to_core(spine, j)));
      CHECK(up.from.value == spine0 + spine);
      CHECK(up.to.value == core0 + spine % 2 * 2 + j);  // the spine's index in its group is the plane
      CHECK(fabric.link(LinkId(clos.core_to_spine(spine, j, 0))).to.value == spine0 + spine);
    }
}

TEST_CASE("names of vertices and links read back", "[fabric]") {
  const Fabric fabric = small_fabric();
  CHECK(fabric.name(VertexId(5)) == "node2.nic1");
  CHECK(fabric.name(VertexId(17)) == "leaf1");
  CHECK(fabric.name(VertexId(27)) == "core3");
  for (std::uint32_t v = 0; v < fabric.vertices(); ++v)
    CHECK(fabric.find_vertex(fabric.name(VertexId(v))) == VertexId(v));
  for (std::uint32_t l = 0; l < fabric.links(); ++l) {
    const auto found = fabric.find_links(fabric.name(LinkId(l)));
    REQUIRE(found.size() == 2);  // both directions of one cable
    CHECK(found[0].value == (l & ~1U));
    CHECK(found[1].value == (l | 1U));
  }
  CHECK(fabric.name(LinkId(small().leaf_to_spine(1, 3))) == "leaf1-spine1#1");
  CHECK(fabric.name(LinkId(small().leaf_to_spine(1, 3) + 1)) == "spine1-leaf1#1");
  CHECK(fabric.find_links("leaf1-spine1").size() == 4);
  CHECK(fabric.find_links("spine0").size() == 2 * (4 + 2));
  CHECK(fabric.find_links("node0.nic0").size() == 2);
  // Both directions of each cable between leaves, spines and cores, and of none to a NIC.
  std::size_t between_switches = 0;
  for (std::uint32_t l = 0; l < fabric.links(); ++l)
    between_switches += fabric.name(LinkId(l)).find("nic") == std::string::npos;
  CHECK(fabric.find_links("uplinks").size() == between_switches);
  CHECK(fabric.find_links("uplinks#0").empty());
}

TEST_CASE("names that fit nothing", "[fabric]") {
  const Fabric fabric = small_fabric();
  for (const char* name :
       {"", "leaf", "leaf4", "leaf-1", "leaf1x", "node8.nic0", "node0.nic2", "node0", "spine4", "tor0"})
    CHECK_FALSE(fabric.find_vertex(name));
  for (const char* name : {"leaf0-leaf1", "leaf0-spine2", "leaf0-spine0#2", "leaf0-spine0#", "leaf0#0", "-", "x-y"})
    CHECK(fabric.find_links(name).empty());
}

TEST_CASE("counts by tier, and what goes out of a vertex", "[fabric]") {
  const Fabric fabric = small_fabric();
  CHECK(fabric.switches_in(Tier::leaf) == 4);
  CHECK(fabric.switches_in(Tier::spine) == 4);
  CHECK(fabric.switches_in(Tier::core) == 4);
  CHECK(fabric.cables_below(Tier::leaf) == 16);
  CHECK(fabric.cables_below(Tier::spine) == 16);
  CHECK(fabric.cables_below(Tier::core) == 8);
  const Fabric::Adjacency out(fabric);
  std::uint32_t total = 0;
  for (std::uint32_t v = 0; v < fabric.vertices(); ++v)
    for (const LinkId l : out.out(VertexId(v))) {
      CHECK(fabric.link(l).from.value == v);
      ++total;
    }
  CHECK(total == fabric.links());
}

TEST_CASE("a builder that is misused is our fault", "[fabric]") {
  FabricBuilder out_of_order(1, 1);
  out_of_order.add_switch(Tier::spine);
  CHECK_THROWS_AS(out_of_order.add_switch(Tier::leaf), InternalError);
  FabricBuilder nowhere(1, 1);
  nowhere.add_cable(VertexId(0), VertexId(7), cable, cable);
  CHECK_THROWS_AS(std::move(nowhere).build(), InternalError);
  FabricBuilder half_named(1, 1);
  half_named.add_switch(Tier::leaf, "a");
  half_named.add_switch(Tier::leaf);
  CHECK_THROWS_AS(std::move(half_named).build(), InternalError);
}

TEST_CASE("the state of links keeps only what differs", "[fabric]") {
  LinkState state;
  CHECK(state.all_nominal());
  CHECK(state.factor(5) == 1);
  state.set(LinkId(9), 0.25), state.set(LinkId(5), 0), state.set(LinkId(7), 0.5);
  REQUIRE(state.factors().size() == 3);
  CHECK(state.factors()[0].first == 5);
  CHECK(state.factors()[2].first == 9);
  CHECK(state.down(5));
  CHECK_FALSE(state.down(7));
  CHECK(state.factor(7) == 0.5);
  CHECK(state.any_down());
  state.set(LinkId(5), 0.9);
  CHECK_FALSE(state.any_down());
  state.set(LinkId(5), 1), state.set(LinkId(7), 1), state.set(LinkId(9), 1), state.set(LinkId(3), 1);
  CHECK(state.all_nominal());
}

TEST_CASE("light takes 4.9 ns per metre of fibre [FABRICS-2]", "[fabric]") {
  CHECK(propagation(Metres{20}).value == Approx(98e-9));
  CHECK(propagation(Metres{0}).value == 0);
}

}  // namespace
}  // namespace fabricast
