// Fabrics as tools print them, from the file to the forecast.
#include <catch2/catch.hpp>

#include <fstream>

#include "fabricast/discover/fabric.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/scenario/fabric_file.hpp"
#include "support/begin_as.hpp"
#include "support/fabrics.hpp"
#include "support/scratch.hpp"
#include "support/subnet_text.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

/// Hosts with two NICs each on two tiers of switches.
const std::string job =
    "node: {gpu: l40s, gpus: 4, nics: {count: 2, rate: 400Gbps, link: infiniband}}\n"
    "workload: {collective: alltoall, sizes: [1MiB, 256MiB]}\n";

struct Site {
  Fabric made = test::fabric_of("fat_tree", test::demand_of(64, 2), {{"switch.ports", "32"}});
  test::SubnetText text{made};
  Scratch folder;

  Site() {
    const LinkState state;
    write(folder / "ibnetdiscover.txt", text.ibnetdiscover());
    write(folder / "lfts.dump", text.tables(*test::router_of("static", made, state)));
  }
  World world(const std::string& rest, const std::string& set = {}) const {
    const std::vector<std::string> words = set.empty() ? std::vector<std::string>() : std::vector{set};
    return build_world(parse_scenario("fabricast: 1\n" + job + rest, folder / "scenario.yaml", words).scenario);
  }
  std::vector<double> times(const std::string& rest, const std::string& set = {}) const {
    std::vector<double> list;
    for (const ForecastRow& row : run_forecast(world(rest, set)).rows) list.push_back(row.time.value);
    return list;
  }
};

constexpr const char* as_found =
    "fabric: {kind: file, path: ibnetdiscover.txt}\nrouting: {kind: lft, path: lfts.dump}\n";

TEST_CASE("a fabric read back from tool output gives the same forecast as the original", "[imports]") {
  const Site site;
  const std::vector<double> expected =
      site.times("cluster: {nodes: 64}\nfabric: {kind: fat_tree, switch: {ports: 32}}\nrouting: {kind: static}\n");
  REQUIRE(expected.size() == 2);
  const auto same = [&](const std::vector<double>& found) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(1e-9));
  };
  same(site.times(std::string("cluster: {nodes: 64}\n") + as_found));

  // And as a fabric file of our own.
  FabricFileResult read = read_fabric_file({{"x", site.text.ibnetdiscover()}}, {});
  write(site.folder / "fabric.yaml", fabric_yaml(read.fabric));
  same(site.times(std::string("cluster: {nodes: 64}\n") + as_found, "fabric.path=fabric.yaml"));
  CHECK(fabric_yaml(read_fabric_file({{"y", fabric_yaml(read.fabric)}}, {}).fabric) == fabric_yaml(read.fabric));
}

TEST_CASE("a job gets the hosts that it names, and links have the names of the file", "[imports]") {
  const Site site;
  const auto world = site.world(std::string("cluster: {hosts: \"node[60-63,3]\"}\n") + as_found);
  CHECK(world.scenario().cluster.nodes == 5);
  CHECK(world.scenario().cluster.size == 64);
  CHECK(world.scenario().cluster.order == std::vector<int>{60, 61, 62, 63, 3});
  const Fabric& fabric = *world.fabric();
  CHECK(fabric.name(fabric.endpoint(3, 1)) == "node3.mlx5_1");
  CHECK(fabric.node_name(3) == "node3");
  CHECK(fabric.find_vertex("node3.mlx5_1")->value == fabric.endpoint(3, 1).value);
  CHECK(fabric.find_vertex("node3.nic1")->value == fabric.endpoint(3, 1).value);
  CHECK_FALSE(fabric.find_vertex("node3.mlx5_9"));
  CHECK(fabric.find_links("node3.mlx5_1").size() == 2);
  CHECK(fabric.find_links("leaf0-spine1").size() == 2 * site.made.find_links("leaf0-spine1").size() / 2);

  const auto again = build_world(parse_scenario(to_yaml(world.scenario()), "other/place.yaml").scenario);
  CHECK(again.scenario().cluster.order == world.scenario().cluster.order);
  CHECK(run_forecast(again).fingerprint == run_forecast(world).fingerprint);
  CHECK_NOTHROW(
      site.world(std::string("cluster: {nodes: 64}\nfaults: [{link: node3.mlx5_1, rate: 10%}]\n") + as_found));
}

std::vector<std::string> faults_of(const Site& site, const std::string& rest, const std::string& set = {}) {
  std::vector<std::string> list;
  try {
    (void)run_forecast(site.world(rest, set));
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics())
      list.push_back(std::filesystem::path(d.where.file).filename().string() +
                     (d.where.line > 0 ? ":" + std::to_string(d.where.line) : "") + ": " + d.path + ": " + d.message);
  }
  return list;
}

TEST_CASE("settings that contradict a fabric file are errors", "[imports]") {
  const Site site;
  using test::begin_as;
  const std::string all = std::string("cluster: {nodes: 64}\n") + as_found;
  CHECK_THAT(faults_of(site, all, "cluster.nodes=65"),
             begin_as("scenario.yaml:4: cluster.size: 64 hosts are fewer than the job needs (65)"));
  CHECK_THAT(faults_of(site, all, "node.nics.count=4"), begin_as("scenario.yaml:5: fabric.path: "));
  CHECK_THAT(faults_of(site, all, "fabric.nics=[mlx5_1]"), begin_as("scenario.yaml:5: fabric.path: "));
  CHECK_THAT(faults_of(site, all, "fabric.oversubscription=2"),
             begin_as("--set fabric.oversubscription=2: fabric.oversubscription: is only for"));
  CHECK_THAT(faults_of(site, all, "cluster.hosts=node[62-64]"),
             begin_as("--set cluster.hosts=node[62-64]: cluster.hosts: the fabric has no host 'node64'"));
  CHECK_THAT(faults_of(site, all, "cluster.hosts=node[62-"),
             begin_as("--set cluster.hosts=node[62-: cluster.hosts: expected a number"));
  CHECK_THAT(faults_of(site, all, "routing.path=nothing"),
             begin_as("--set routing.path=nothing: routing.path: cannot read"));
  CHECK_THAT(faults_of(site, "cluster: {nodes: 64}\nfabric: {kind: fat_tree}\nrouting: {kind: lft, path: lfts.dump}\n"),
             begin_as(": routing.kind: lft needs the LIDs of the fabric"));
  CHECK_THAT(faults_of(site, "cluster: {nodes: 64}\nfabric: {kind: fat_tree}\n", "cluster.hosts=a"),
             begin_as("--set cluster.hosts=a: cluster.hosts: the fabric has no host names"));
  const std::string whole = site.text.ibnetdiscover();
  write(site.folder / "cut.txt", whole.substr(0, whole.size() - 40));
  CHECK_THAT(faults_of(site, all, "fabric.path=cut.txt").back(), Catch::StartsWith("cut.txt:"));
}

TEST_CASE("Slurm's topology.conf becomes a fabric without its cables", "[imports]") {
  const Site site;
  write(site.folder / "topology.conf",
        "SwitchName=a Nodes=n[01-32]\nSwitchName=b Nodes=n[33-64]\nSwitchName=top Switches=a,b\n");
  const auto world =
      site.world("cluster: {hosts: \"n[01-64]\"}\nfabric: {kind: file, path: topology.conf, oversubscription: 2}\n");
  CHECK(world.fabric()->switches() == 3);
  CHECK(world.fabric()->cables_below(Tier::leaf) == 128);
  CHECK(world.fabric()->cables_below(Tier::spine) == 64);
  CHECK(world.fabric()->name(world.fabric()->endpoint(32, 0)) == "n33.nic0");
  const std::string slurm =
      "cluster: {nodes: 64}\nfabric: {kind: file, path: topology.conf}\nrouting: {kind: adaptive}\n";
  CHECK(site.times(slurm, "fabric.oversubscription=16")[1] > 3 * site.times(slurm)[1]);
}

const std::string graph =
    "name: two hosts\n"
    "devices:\n"
    "- {name: server, components: [{name: xpu, choice: xpu, count: 4}, {name: nic, choice: nic, count: 2}]}\n"
    "- {name: box, components: [{name: port, choice: port, count: 8}]}\n"
    "links: [{name: cable, physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}}}]\n"
    "instances: [{name: host, device: server, count: 2}, {name: leaf, device: box, count: 1}]\n"
    "edges:\n"
    "- {ep1: {instance: host, component: nic}, ep2: {instance: leaf, component: \"port[0:4]\"}, scheme: one2one, link: "
    "cable}\n";

TEST_CASE("an InfraGraph is a fabric file", "[imports]") {
  const Site site;
  write(site.folder / "infra.yaml", graph);
  const std::string rest = "cluster: {hosts: \"host.[0-1]\"}\nfabric: {kind: file, path: infra.yaml}\n";
  const auto world = site.world(rest);
  CHECK(world.fabric()->name(world.fabric()->endpoint(1, 1)) == "host.1.nic.1");
  CHECK(world.fabric()->find_vertex("host.1.nic.1")->value == 3);
  write(site.folder / "infra.yaml", "infrastructure:\n  devices: [1]\n  instances: [{name: a}]\n  edges: {}\n");
  CHECK_THAT(faults_of(site, rest),
             test::begin_as("infra.yaml:2: : must be a map", "infra.yaml:3: : `device` is missing",
                            "infra.yaml:3: : `count` must be", "infra.yaml:4: : `edges` must be a list"));
}

TEST_CASE("Slurm's topology.yaml means the same as topology.conf", "[imports]") {
  const std::string yaml =
      "---\n# two topologies\n- topology: flat\n  flat: true\n- topology: other\n  block: {blocks: [{block: b, nodes: "
      "x}]}\n"
      "- topology: real\n  cluster_default: True\n  tree:\n    switches:\n      - switch: top\n        children: a,b\n"
      "      - switch: a\n        nodes: n[01-32]\n      - {switch: b, nodes: \"n[33-64]\"}\n";
  const std::string conf = "SwitchName=top Switches=a,b\nSwitchName=a Nodes=n[01-32]\nSwitchName=b Nodes=n[33-64]\n";
  FabricFileOptions options;
  options.nics = 2;
  CHECK(fabric_yaml(read_fabric_file({{"y", yaml}}, options).fabric) ==
        fabric_yaml(read_fabric_file({{"c", conf}}, options).fabric));
  const auto faults = [](const std::string& text) {
    std::vector<std::string> list;
    try {
      (void)read_slurm({"topology.yaml", text});
    } catch (const UserError& e) {
      for (const Diagnostic& d : e.diagnostics())
        list.push_back(std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " + d.message);
    }
    return list;
  };
  using test::begin_as;
  CHECK_THAT(faults("- topology: a\n  flat: true\n"), begin_as("1:1: the file has neither a tree nor blocks"));
  CHECK_THAT(faults("- topology: a\n  tree: {switches: 3}\n"), begin_as("1:1: a list of switches is expected here"));
  CHECK_THAT(
      faults("- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1-\n      - nodes: x\n"),
      begin_as("4:1: 's' has neither", "5:20: expected a number", "6:1: `switch` is missing"));
  CHECK_THAT(faults("- topology: a\n  tree: {switches: [{switch: s, children: s}]}\n"),
             begin_as("2:1: 's' is below itself"));
  CHECK_THAT(faults("- topology: [a\n"), begin_as("2:1: not YAML"));
}

}  // namespace
}  // namespace fabricast
