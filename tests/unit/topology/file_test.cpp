#include "fabricast/topology/file.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "support/begin_as.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

FileFabricSpec two_tors() {
  FileFabricSpec spec;
  spec.path = "fabric.yaml";
  spec.switches = {{"agg", Tier::spine}, {"tor0", Tier::leaf}, {"tor1", Tier::leaf}};
  spec.links = {{"node0.nic0", "tor0"},
                {"node1.nic0", "tor1"},
                {"node2.nic0", "tor1"},
                {"tor0", "agg"},
                {"tor1", "agg", BytesPerSecond{25e9}, Seconds{1e-6}, 2}};
  return spec;
}

Fabric build_file(const FileFabricSpec& spec, std::uint32_t nodes) {
  for (const Topology& t : topologies())
    if (t.name == "file") return t.build(spec, test::demand_of(nodes, 1));
  throw InternalError("no file topology");
}

std::vector<std::string> faults(const FileFabricSpec& spec, std::uint32_t nodes) {
  std::vector<std::string> list;
  try {
    build_file(spec, nodes);
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics()) list.push_back(d.where.file + ": " + d.path + ": " + d.message);
  }
  return list;
}

TEST_CASE("a fabric from a list of switches and cables", "[topology]") {
  const Fabric fabric = build_file(two_tors(), 3);
  CHECK(fabric.clos() == nullptr);
  CHECK(fabric.switches() == 3);
  CHECK(fabric.cables() == 6);
  CHECK(fabric.switches_in(Tier::leaf) == 2);
  CHECK(fabric.find_links("tor1-agg").size() == 4);
  const auto second = fabric.find_links("tor1-agg#1");
  REQUIRE(second.size() == 2);
  CHECK(fabric.name(second[0]) == "tor1-agg#1");
  CHECK(fabric.link_class(second[0]).rate.value == 25e9);
  CHECK(fabric.link_class(second[1]).latency.value == 1e-6);
  CHECK(fabric.link_class(fabric.find_links("tor0-agg")[0]).rate.value == 50e9);
  CHECK(test::hops_from(fabric, 0)[2] == 4);
  CHECK(test::hops_from(fabric, 1)[2] == 2);

  const LinkState state;
  for (const char* policy : {"ecmp", "adaptive", "spray", "static"}) {
    const auto router = test::router_of(policy, fabric, state);
    Path path;
    CHECK(router->route({0, 2, 1, 1}, path));
    CHECK(path.latency.value == Approx(3 * 20 * 4.9e-9 + 2 * 250e-9 + 1e-6));
  }
}

TEST_CASE("faults of a fabric file are all named", "[topology]") {
  FileFabricSpec spec = two_tors();
  spec.switches.push_back({"tor0", Tier::leaf});
  spec.links[1].to = "tor7";
  spec.links[3] = {"tor0", "node1.nic0"};
  CHECK_THAT(
      faults(spec, 3),
      test::begin_as("fabric.yaml: switches[3]: duplicate name 'tor0'", "fabric.yaml: links[1].to: unknown name 'tor7'",
                     "fabric.yaml: links[3].to: must be a switch", "fabric.yaml: links: node1.nic0 has "));
  spec = two_tors();
  spec.links.push_back({"tor0", "tor0"});
  spec.links[0].count = 2;
  CHECK_THAT(faults(spec, 3),
             test::begin_as("fabric.yaml: links[5]: 'tor0' is connected to itself",
                            "fabric.yaml: links: node0.nic0 has 2 cables; every NIC port needs exactly one"));
  CHECK_THAT(faults(two_tors(), 4), test::begin_as("fabric.yaml: links: node3.nic0 has "));
  CHECK(faults(two_tors(), 3).empty());
}

TEST_CASE("there is no way across a cut fabric", "[topology]") {
  FileFabricSpec spec = two_tors();
  spec.links.erase(spec.links.begin() + 3);  // tor0 alone
  const Fabric fabric = build_file(spec, 3);
  const LinkState state;
  for (const char* policy : {"ecmp", "adaptive", "spray", "static"}) {
    const auto router = test::router_of(policy, fabric, state);
    Path path;
    CHECK_FALSE(router->route({0, 1, 1, 1}, path));
    CHECK(router->route({1, 2, 1, 1}, path));
  }
}

}  // namespace
}  // namespace fabricast
