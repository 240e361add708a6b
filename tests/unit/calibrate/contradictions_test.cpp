// Contradictions between a log and a scenario: one of each kind, and none between a log and its own scenario.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/check.hpp"
#include "support/import_text.hpp"

namespace fabricast {
namespace {

World world_of(const std::string& node, int nodes, const std::string& workload = {}) {
  return build_world(parse_scenario(fmt::format("fabricast: 1\nnode: {}\ncluster: {{nodes: {}}}\nworkload: {{{}}}\n",
                                                node, nodes, workload),
                                    "w.yaml")
                         .scenario);
}

std::string text_of(const std::vector<Contradiction>& found) {
  std::string text;
  for (const Contradiction& c : found)
    text += fmt::format("{}: {}: {} / {}; {}\n", c.line, c.key, c.log, c.scenario, c.hint);
  return text;
}

std::string against(const World& world, const LogTable& table) {
  Imported log;
  log.tables = {table};
  return text_of(contradictions(log, world));
}

std::string against(const World& world, const std::string& log) {
  return text_of(contradictions(import_text_of(log), world));
}

TEST_CASE("GPUs per host and ranks per process are compared", "[calibrate]") {
  const auto world = world_of("{gpu: h100-sxm}", 2);
  LogTable table;
  table.line = 7, table.ranks = 16, table.nodes = 2, table.ranks_per_process = 8, table.threads = 1;
  CHECK(against(world, table).empty());  // what the scenario leaves open
  table.ranks = 8;
  CHECK(against(world, table) == "7: node.gpus: 4 / 8; --set node.gpus=4\n");
  table.ranks = 9;  // uneven
  CHECK(against(world, table).empty());
  table.ranks = 16;
  const auto stated = world_of("{gpu: h100-sxm}", 2, "harness: {ranks_per_process: 1}");
  CHECK(against(stated, table) ==
        "7: workload.harness.ranks_per_process: 8 / 1; --set workload.harness.ranks_per_process=8\n");
}

TEST_CASE("without a table, the communicator gives hosts and GPUs", "[calibrate]") {
  const std::string two = "n:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n";
  CHECK(against(world_of("{gpu: h100-sxm}", 2), two).empty());
  CHECK_THAT(against(world_of("{gpu: h100-sxm}", 4), two), Catch::Matchers::StartsWith("1: cluster.nodes: 2 / 4; "));
  CHECK_THAT(against(world_of("{gpu: h100-sxm, gpus: 4}", 2), two), Catch::Matchers::StartsWith("1: node.gpus: 8 / 4"));
  // If a job has groups of its own, the largest communicator that is printed need not span the job.
  const std::string group = "n:1:2 [0] NCCL INFO comm 0x6 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0\n";
  CHECK(against(world_of("{gpu: h100-sxm}", 4), two + group).empty());
  // With P2P and SHM off, NCCL's nodes are not hosts.
  const std::string apart = "n:1:2 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.\n";
  CHECK(against(world_of("{gpu: h100-sxm}", 4), two + apart).empty());
}

TEST_CASE("kind, rate and number of NICs are compared", "[calibrate]") {
  const auto world = world_of("{gpu: h100-sxm, nics: {count: 2, rate: 400Gbps, link: infiniband}}", 2);
  const auto using_nics = [](const char* list) {
    return fmt::format("n:1:2 [0] NCCL INFO NET/IB : Using {} ; OOB eth0:1<0>\n", list);
  };
  CHECK(against(world, using_nics("[0]mlx5_0:1/IB [1]mlx5_1:1/IB")).empty());
  CHECK(against(world, using_nics("[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE")) ==
        "1: node.nics.link: roce / infiniband; --set node.nics.link=roce\n");
  CHECK(against(world, using_nics("[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE")).empty());  // one of them is for storage
  CHECK(against(world, using_nics("[0]mlx5_0:1/IB")).empty());                   // a cause, fewer_nics
  CHECK(against(world, std::string("n:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n")).empty());
  CHECK(against(world, std::string("n:1:2 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa\n")) ==
        "1: node.nics.link: efa / infiniband; --set node.nics.link=efa\n");
  const auto edge = [](int from, int to, int nic) {
    return fmt::format("n:1:2 [0] NCCL INFO Channel 00/0 : {}[0] -> {}[0] [send] via NET/IB/{}/GDRDMA\n", from, to,
                       nic);
  };
  CHECK(against(world, edge(0, 8, 0) + edge(1, 9, 1)).empty());
  CHECK(against(world, edge(0, 8, 0) + edge(1, 9, 1) + edge(8, 0, 2) + edge(9, 1, 3)).empty());  // two of each host
  CHECK(against(world, edge(0, 8, 0) + edge(1, 9, 1) + edge(2, 10, 2)) ==
        "1: node.nics.count: 3 / 2; --set node.nics.count=3\n");
  const auto speed = [](int nic, int mbps) {
    return fmt::format(
        "n:1:2 [0] NCCL INFO NET/IB: [{0}] mlx5_{0}:uverbs{0}:1/IB provider=Mlx5 speed={1} context=0x5 pciPath=/sys/x "
        "ar=1\n",
        nic, mbps);
  };
  CHECK(against(world, speed(0, 400000) + speed(1, 400000)).empty());
  CHECK(against(world, speed(0, 200000) + speed(1, 200000)) ==
        "1: node.nics.rate: 200Gbps / 400Gbps; --set node.nics.rate=200Gbps\n");
  // Ports of one card that are counted separately.
  CHECK(against(world, speed(0, 200000) + speed(1, 200000) + speed(2, 200000) + speed(3, 200000)).empty());
  // One NIC that came up slower is a cause, not another cluster.
  const std::string slower = using_nics("[0]mlx5_0:1/IB [1]mlx5_1:1/IB") + speed(0, 400000) + speed(1, 100000);
  CHECK(against(world, slower).empty());
  CHECK(evidence(import_text_of(slower), world).at(Cause::slow_nic) > 1);
  // On one host, NICs are not compared.
  CHECK(against(world_of("{gpu: h100-sxm}", 1), using_nics("[0]mlx5_0:1/RoCE")).empty());
}

/// A log as the tools would have printed it for a measured case.
Imported log_of(const MeasuredCase& c, int hosts_of_nic) {
  Imported log;
  LogTable table;
  table.tool = "nccl_tests", table.operation = c.collective, table.line = 1;
  table.ranks = c.nodes * c.gpus_per_node, table.nodes = c.nodes, table.nccl_version = c.nccl_version;
  table.ranks_per_process = harness_number(c, "ranks_per_process"), table.threads = harness_number(c, "threads");
  table.gpu = c.gpu;
  log.tables = {table};
  log.nccl.line = 1, log.nccl.version = c.nccl_version;
  log.nccl.communicators = {{table.ranks, c.nodes, c.gpus_per_node}};
  const std::string kind = c.link == "infiniband" ? "IB"
                           : c.link == "roce"     ? "RoCE"
                           : c.link == "socket"   ? "Socket"
                                                  : "";
  if (c.nodes < 2 || kind.empty()) return log;
  for (int n = 0; n < c.nics.value_or(c.gpus_per_node); ++n) {
    log.nccl.nics.push_back({n, fmt::format("nic{}", n), kind});
    if (kind != "Socket") {
      log.nccl.nic_speeds[fmt::format("nic{}", n)] = static_cast<std::int64_t>(c.nic_gbps.value_or(400) * 1000);
      for (int host = 0; host < std::min(c.nodes, hosts_of_nic); ++host)
        log.nccl.edges.push_back(
            {0, host * c.gpus_per_node, (host + 1) * c.gpus_per_node, false, fmt::format("NET/IB/{}", n)});
    }
  }
  return log;
}

TEST_CASE("no shipped case contradicts its own scenario", "[calibrate]") {
  const std::vector<MeasuredCase> cases = read_cases(shipped_cases_path());
  REQUIRE(cases.size() > 400);
  for (const MeasuredCase& c : cases) {
    INFO(c.id);
    const auto world = build_world(parse_scenario(scenario_of(c), c.id).scenario);
    CHECK(text_of(contradictions(log_of(c, 2), world)).empty());
  }
}

}  // namespace
}  // namespace fabricast
