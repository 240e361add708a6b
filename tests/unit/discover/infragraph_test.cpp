#include <catch2/catch.hpp>

#include "fabricast/discover/infragraph.hpp"
#include "read_text.hpp"
#include "support/begin_as.hpp"

namespace fabricast {
namespace {

InfraEndpoint at(std::string instance, std::string component) {
  return {std::move(instance), std::move(component), 7, 3};
}

/// Four hosts of two NICs on two leaves under two spines.
InfraGraph two_tiers() {
  InfraGraph graph;
  graph.devices = {{"server", {{"xpu", "xpu", 2}, {"nic", "nic", 2}}},
                   {"switch", {{"asic", "cpu", 1}, {"port", "port", 16}}}};
  graph.instances = {{"host", "server", 4, 1}, {"leaf", "switch", 2, 2}, {"spine", "switch", 2, 3}};
  graph.links = {{"down", BytesPerSecond{12.5e9}}, {"up", BytesPerSecond{50e9}}};
  for (int h = 0; h < 4; ++h)
    graph.edges.push_back({at(fmt::format("host[{}]", h), "nic"),
                           at(fmt::format("leaf[{}]", h / 2), fmt::format("port[{}:{}]", 2 * (h % 2), 2 * (h % 2) + 2)),
                           "one2one", "down", 7});
  graph.edges.push_back({at("leaf[0]", "port[8:10]"), at("spine", "port[0]"), "one2one", "up", 8});
  graph.edges.push_back({at("leaf[1]", "port[8:10]"), at("spine[0:2:1]", "port[1]"), "one2one", "up", 8});
  return graph;
}

std::vector<std::string> faults(const InfraGraph& graph) {
  FileProblems problems("infra.yaml");
  (void)fabric_of_infragraph(graph, problems);
  return test::texts(problems.errors());
}

TEST_CASE("an InfraGraph of hosts and two tiers of switches", "[discover]") {
  FileProblems problems("infra.yaml");
  FileFabric fabric = fabric_of_infragraph(two_tiers(), problems);
  CHECK_FALSE(problems.failed());
  CHECK(problems.warnings().empty());
  std::vector<Diagnostic> warnings;
  find_tiers(fabric, warnings);
  CHECK(warnings.empty());
  CHECK(fabric_text(fabric) ==
        "hosts          4  2 NIC ports each\nswitches       2  leaf\nswitches       2  spine\n"
        "cables         8  NIC to leaf, 100Gbps\ncables         4  leaf to spine, 400Gbps\n");
  CHECK(fabric.hosts[3].name == "host.3");
  CHECK(fabric.hosts[3].nics[1].name == "nic.1");
  const FileFabricLink& last = fabric.links.back();
  CHECK(last.from == "leaf.1");
  CHECK(last.to == "spine.1");
  CHECK(last.from_port == 10);
  CHECK(last.to_port == 2);
}

TEST_CASE("NICs that are devices themselves, and edges that are no cables", "[discover]") {
  InfraGraph graph = two_tiers();
  graph.devices[0].components = {{"xpu", "xpu", 2}, {"card", "device", 2}};
  graph.devices.push_back({"card", {{"pcie", "custom", 1}, {"port", "port", 1}}});
  graph.devices.push_back({"nvswitch", {{"port", "port", 16}}});
  graph.instances.push_back({"rack", "nvswitch", 1, 4});
  for (std::size_t e = 0; e < 4; ++e) graph.edges[e].a.component = "card.port[0]";
  graph.edges.push_back({at("host", "xpu"), at("rack[0]", "port[0:8]"), "one2one", "up", 9});
  FileProblems problems("infra.yaml");
  const FileFabric fabric = fabric_of_infragraph(graph, problems);
  CHECK(test::texts(problems.errors()).empty());
  CHECK_THAT(test::texts(problems.warnings()),
             test::begin_as("0:1: left out 8 edges that do not lead from a NIC or switch to a switch"));
  CHECK(fabric.hosts[0].nics[1].name == "card.1.port.0");
  CHECK(fabric.switches.size() == 4);
  CHECK(fabric.links.size() == 12);
}

TEST_CASE("faults of an InfraGraph are told where they stand", "[discover]") {
  using test::begin_as;
  const auto with = [](auto change) {
    InfraGraph graph = two_tiers();
    change(graph);
    return faults(graph);
  };
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].a.instance = "hots[0]"; }), begin_as("7:3: unknown instance 'hots'"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].a.instance = "host[4]"; }),
             begin_as("7:3: 'host[4]' is not a valid slice of 4"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].a.instance = "host[0"; }),
             begin_as("7:3: 'host[0' is not a valid slice of 4"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].a.component = "nic[0:2:0]"; }),
             begin_as("7:3: 'nic[0:2:0]' is not a valid slice"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].a.component = "nic.port"; }),
             begin_as("7:3: 'port' is not inside a device"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].b.component = "plug"; }),
             begin_as("7:3: the device 'switch' has no component 'plug'"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].b.component = "port"; }),
             begin_as("7:1: one2one needs equal numbers of ends, not 2 and 16"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].scheme = "ring"; }), begin_as("7:1: unsupported scheme 'ring'"));
  CHECK_THAT(with([](InfraGraph& g) { g.edges[0].link = "side"; }), begin_as("7:1: unknown link 'side'"));
  CHECK_THAT(with([](InfraGraph& g) { g.instances[2].device = "box"; }),
             begin_as("3:1: unknown device 'box'", "7:3: unknown instance 'spine'", "7:3: unknown instance"));
  CHECK_THAT(with([](InfraGraph& g) { g.instances[2].name = "leaf"; }),
             begin_as("3:1: duplicate instance 'leaf'", "7:3: unknown instance 'spine'", "7:3:"));
}

}  // namespace
}  // namespace fabricast
