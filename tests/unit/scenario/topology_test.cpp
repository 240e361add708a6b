// Scenarios that name NCCL topology and graph files.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "fabricast/core/file.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "fabricast/scenario/world.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

const std::string folder = FABRICAST_TEST_DATA "/nccl_topologies/";

/// A scenario in the folder of the topology files.
std::string text(std::string_view node, std::string_view rest) {
  return fmt::format("fabricast: 1\nnode: {}\nworkload: {{collective: all_reduce, sizes: [1MiB]}}\n{}\n", node, rest);
}
World world(const std::string& scenario, const std::vector<std::string>& overrides = {}) {
  return build_world(parse_scenario(scenario, folder + "scenario.yaml", overrides).scenario);
}

TEST_CASE("a topology file defines the node, by node.topology or NCCL_TOPO_FILE", "[scenario]") {
  const auto key = world(text("{topology: pcie8_gen4.xml, gpu: l40s}", "cluster: {nodes: 2}"));
  const auto env = world(text("{gpu: l40s}", "cluster: {nodes: 2}\nnccl: {env: {NCCL_TOPO_FILE: pcie8_gen4.xml}}"));
  const auto set = world(text("{gpu: l40s}", "cluster: {nodes: 2}"), {"node.topology=pcie8_gen4.xml"});
  for (const World& w : {key, env, set}) {
    const Communicator& comm = w.planner().comm;
    CHECK(comm.gpus() == 8);
    CHECK(comm.node.nics == 2);
    CHECK(comm.node.nic_line_rate.value == 25e9);
    CHECK(w.planner().graphs.ring.bw_intra == 12);
    CHECK(w.planner().graphs.ring.cross_nic == 2);
    CHECK(w.planner().graphs.tree.bw_intra == 9);
  }
}

TEST_CASE("the GPU comes from the topology file if only one kind fits", "[scenario]") {
  CHECK(world(text("{topology: dgxa100.xml}", "cluster: {nodes: 2}")).planner().comm.node.gpu.name == "a100-sxm");
  CHECK(world(text("{topology: gb200_1host.xml}", "cluster: {nodes: 2}")).planner().comm.node.gpu.name == "gb200");
  CHECK_THROWS_AS(world(text("{topology: dgxh100.xml}", "cluster: {nodes: 2}")), UserError);
}

TEST_CASE("hosts of a topology file share an NVLink domain", "[scenario]") {
  // Three racks of NVL72: three nodes of 72 GPUs and 72 NICs to NCCL.
  const auto racks = world(text("{topology: gb200_1host.xml}", "nvlink_domain: {nodes: 18}\ncluster: {nodes: 54}"));
  CHECK(racks.planner().comm.nodes() == 3);
  CHECK(racks.planner().comm.gpus() == 72);
  CHECK(racks.planner().comm.node.nics == 72);
  CHECK(racks.planner().graphs.nvls.channels == 32);
  for (const ChannelShape& shape : racks.planner().graphs.ring.shapes) CHECK(shape.gpus.size() == 72);
  // A rack that the job fills in part is a node with the hosts that it has; of two it takes as many of each.
  CHECK(world(text("{gpu: gb200}", "nvlink_domain: {nodes: 18}\ncluster: {nodes: 4}")).planner().comm.gpus() == 16);
  CHECK(world(text("{gpu: gb200}", "nvlink_domain: {nodes: 18}\ncluster: {nodes: 20}")).planner().comm.gpus() == 40);
}

TEST_CASE("the effective scenario has absolute paths and reads back", "[scenario]") {
  const Scenario s =
      parse_scenario(text("{topology: gb200_1host.xml}", "cluster: {nodes: 2}"), folder + "scenario.yaml").scenario;
  const std::string effective = to_yaml(s);
  CHECK(effective.find(folder + "gb200_1host.xml") != std::string::npos);
  const Scenario again = parse_scenario(effective, "elsewhere.yaml").scenario;
  CHECK(to_yaml(again) == effective);
  CHECK(write_graphs(build_world(again).planner().graphs) == write_graphs(build_world(s).planner().graphs));
}

TEST_CASE("graphs from a file replace those of NCCL's search", "[scenario]") {
  const Scratch scratch;
  const std::string file = scratch / "graphs.xml";
  const std::string node = "{profile: hgx-h100}";
  SearchGraphs graphs = world(text(node, "cluster: {nodes: 2}")).planner().graphs;
  graphs.ring.shapes.resize(4), graphs.ring.channels = 4;
  graphs.tree = {};
  write_file(file, write_graphs(graphs));
  const auto given =
      world(text(node, fmt::format("cluster: {{nodes: 2}}\nnccl: {{env: {{NCCL_GRAPH_FILE: {}}}}}", file)));
  CHECK(given.planner().graphs.ring.channels == 4);
  CHECK(given.planner().graphs.tree.channels == 4);
  // On one node the same file does not fit: its channels have NICs.
  CHECK_THROWS_AS(world(text(node, fmt::format("cluster: {{nodes: 1}}\nnccl: {{env: {{NCCL_GRAPH_FILE: {}}}}}", file))),
                  UserError);
}

}  // namespace
}  // namespace fabricast
