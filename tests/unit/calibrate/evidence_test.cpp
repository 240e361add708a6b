// Evidence of `check` from log lines as NCCL's source prints them [NCCL-log].
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/scenario/trial.hpp"
#include "support/import_text.hpp"

namespace fabricast {
namespace {

constexpr double beyond_doubt = 1e9;

World world_of(const std::string& node, int nodes, const std::string& rest = {}) {
  return build_world(parse_scenario(fmt::format("fabricast: 1\nnode: {}\ncluster: {{nodes: {}}}\n{}workload: {{}}\n",
                                                node, nodes, rest),
                                    "w.yaml")
                         .scenario);
}

/// The factor that a log gives a cause; 1: the log says nothing.
double weight(Cause cause, const std::string& log, const World& world) {
  const auto weights = evidence(import_text_of(log), world);
  const auto it = weights.find(cause);
  return it == weights.end() ? 1 : it->second;
}

std::string line(const std::string& text, int rank = 0) {
  return fmt::format("node-1:{}:{} [{}] NCCL INFO {}\n", 100 + rank, 200 + rank, rank, text);
}
std::string edge(int from, int to, const std::string& via, int channel = 0) {
  return line(fmt::format("Channel {:02}/0 : {}[{}] -> {}[{}] via {}", channel, from, from % 8, to, to % 8, via),
              from % 8);
}
/// Eight GPUs, GPU g sending to the other host by NIC `nic(g)`.
template <class F>
std::string hosts_by(F nic) {
  std::string log;
  for (int g = 0; g < 8; ++g) {
    log += edge(g, (g + 1) % 8, "P2P/CUMEM", g);
    log += line(
        fmt::format("Channel {:02}/0 : {}[{}] -> {}[{}] [send] via NET/IB/{}/GDRDMA", g, g, g, 8 + g, g, nic(g)), g);
  }
  return log;
}

TEST_CASE("connections state how GPUs of a host reach each other", "[calibrate]") {
  const auto world = world_of("{profile: hgx-h100}", 1);
  CHECK(weight(Cause::no_p2p, edge(0, 1, "SHM/direct/direct"), world) > beyond_doubt);
  CHECK(weight(Cause::no_p2p, edge(0, 1, "SHM/direct"), world) > beyond_doubt);  // from 2.28 on
  for (const char* direct : {"P2P/CUMEM/read", "P2P/IPC", "P2P/direct pointer", "P2P/indirect/3[3]"})
    CHECK(weight(Cause::no_p2p, edge(0, 1, direct), world) < 1 / beyond_doubt);
  CHECK(weight(Cause::no_p2p, edge(0, 1, "P2P/CUMEM") + edge(1, 2, "SHM/direct/direct"), world) == 1);
  // Neither P2P nor shared memory: GPUs of one host communicate over the network.
  const std::string one_host = line("comm 0x55 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0");
  CHECK(weight(Cause::no_p2p, one_host + edge(0, 1, "NET/IB/0/GDRDMA"), world) > beyond_doubt);
  CHECK(weight(Cause::no_p2p, line("NCCL_P2P_DISABLE set by environment to 1"), world) > beyond_doubt);
  CHECK(weight(Cause::no_p2p, line("NCCL_P2P_LEVEL set by environment to LOC"), world) > beyond_doubt);
  CHECK(weight(Cause::no_p2p, line("NCCL_P2P_LEVEL set by environment to SYS"), world) == 1);
  const std::string refused = line(
      "P2P is disabled between connected GPUs 0 and 1. You can repress this message with "
      "NCCL_IGNORE_DISABLED_P2P=1.");
  CHECK(weight(Cause::no_p2p, refused, world) > 10);
  const auto given = world_of("{profile: hgx-h100}", 1, "nccl: {env: {NCCL_P2P_DISABLE: 1}}\n");
  CHECK(weight(Cause::no_p2p, line("NCCL_P2P_DISABLE set by environment to 1"), given) == 1);
}

TEST_CASE("one process for several GPUs shows in its connections and in the header", "[calibrate]") {
  const auto world = world_of("{profile: hgx-h100}", 1);
  CHECK(weight(Cause::one_process, edge(0, 1, "P2P/direct pointer"), world) > 10);
  CHECK(weight(Cause::one_process, edge(0, 1, "P2P/CUMEM"), world) < 1 / beyond_doubt);
  LogTable table;
  table.ranks_per_process = 1, table.threads = 1;
  Imported log;
  log.tables = {table};
  CHECK(evidence(log, world).at(Cause::one_process) < 1 / beyond_doubt);
  log.tables[0].ranks_per_process = 8;  // part of the forecast
  CHECK_FALSE(evidence(log, world).contains(Cause::one_process));
}

TEST_CASE("connections state whether NVLink between hosts is used", "[calibrate]") {
  const auto rack = world_of("{profile: gb200-nvl72}", 4, "nvlink_domain: {nodes: 4}\n");
  const std::string comm = "comm 0x55 rank 0 nRanks 16 nNodes 4 localRanks 4 localRank 0 MNNVL ";
  CHECK(weight(Cause::no_mnnvl, line(comm + "0"), rack) > beyond_doubt);
  CHECK(weight(Cause::no_mnnvl, line(comm + "1"), rack) < 1 / beyond_doubt);
  CHECK(weight(Cause::no_mnnvl, line("MNNVL 1 cliqueId 0 cliqueSize 16 cliqueRank 0 "), rack) < 1 / beyond_doubt);
  CHECK(weight(Cause::no_mnnvl, edge(3, 4, "P2P/MNNVL"), rack) < 1 / beyond_doubt);
  CHECK(weight(Cause::no_mnnvl, line("NCCL_MNNVL_ENABLE set by environment to 0."), rack) > beyond_doubt);
  CHECK(
      weight(Cause::no_mnnvl,
             "node-1:1:2 [0] mnnvl.cc:71 NCCL WARN MNNVL (cliqueSize 16) is available but not working on this system. "
             "Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to "
             "ignore this issue.\n",
             rack) > beyond_doubt);
  // Without an NVLink domain, nothing is wrong.
  CHECK(weight(Cause::no_mnnvl, line(comm + "0"), world_of("{profile: hgx-h100}", 2)) == 1);
}

TEST_CASE("NICs in use are those that connections name", "[calibrate]") {
  const auto world = world_of("{profile: hgx-h100}", 2);
  CHECK(weight(Cause::fewer_nics, hosts_by([](int g) { return g / 2; }), world) > 10);
  std::string listed = "NET/IB : Using";
  for (int n = 0; n < 8; ++n) listed += fmt::format(" [{}]mlx5_{}:1/IB", n, n);
  listed = line(listed + " [RO]; OOB eth0:10.0.0.1<0>");
  CHECK(weight(Cause::fewer_nics, listed + hosts_by([](int g) { return g; }), world) < 1);
  CHECK(weight(Cause::fewer_nics, listed + hosts_by([](int) { return 0; }), world) > 10);
  // If one rank of eight prints, the NICs of the others are unknown.
  CHECK(weight(Cause::fewer_nics, edge(0, 8, "NET/IB/0(3)/GDRDMA/Shared"), world) == 1);
  CHECK(weight(Cause::fewer_nics, line("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"), world) >
        beyond_doubt);
  NcclFacts facts;
  facts.edges = {{0, 0, 8, false, "NET/AWS Libfabric/3/GDRDMA"},
                 {0, 1, 9, false, "NET/IB/12(5)/GDRDMA(PCI)/Shared"},
                 {0, 8, 0, true, "NET/IB/3"},
                 {0, 2, 3, false, "P2P/indirect/7[7]"},
                 {0, 3, 4, false, "NET/IB"}};
  CHECK(facts.nics_in_use() == std::vector<int>{3, 12});
  CHECK(facts.ranks_that_print() == 4);
}

TEST_CASE("NCCL's choices are compared with those of the forecast", "[calibrate]") {
  const auto world = world_of("{profile: hgx-h100}", 2);
  const Plan plan = plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 28);
  const auto chose = [](std::string_view algorithm, std::string_view protocol, int channels) {
    return line(fmt::format("AllReduce: {} Bytes -> Algo {} proto {} channel{{Lo..Hi}}={{0..{}}}", 1 << 28, algorithm,
                            protocol, channels - 1));
  };
  const std::string as_forecast = chose(name_of(plan.algorithm), name_of(plan.protocol), plan.channels);
  CHECK(weight(Cause::algorithm_forced, as_forecast, world) < 1 / beyond_doubt);
  CHECK(weight(Cause::protocol_forced, as_forecast, world) < 1 / beyond_doubt);
  CHECK(weight(Cause::too_few_channels, as_forecast, world) < 1);
  REQUIRE(plan.algorithm != Algorithm::tree);
  CHECK(weight(Cause::algorithm_forced, chose("TREE", "SIMPLE", 16), world) > 10);
  CHECK(weight(Cause::protocol_forced, chose(name_of(plan.algorithm), "LL", plan.channels), world) > 10);
  CHECK(weight(Cause::too_few_channels, chose(name_of(plan.algorithm), name_of(plan.protocol), 1), world) > 10);
  // NCCL counts the bytes of an all_gather per rank since 2.24, and of all ranks before: they are not compared.
  const std::string gather = "AllGather: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}";
  CHECK(weight(Cause::algorithm_forced, line(gather), world) == 1);
  // Impossible sizes are ignored.
  const std::string huge = "AllReduce: 9223372036854775807 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}";
  CHECK(weight(Cause::algorithm_forced, line(huge), world) == 1);
}

TEST_CASE("variables in the log are evidence, unless the scenario sets them", "[calibrate]") {
  const auto set = [](const char* variable, const char* value) {
    return line(std::string(variable) + " set by environment to " + value);
  };
  const auto world = world_of("{profile: hgx-h100}", 2, "nccl: {env: {NCCL_PXN_DISABLE: 1}}\n");
  CHECK(weight(Cause::nvls_off, set("NCCL_NVLS_ENABLE", "0."), world) > beyond_doubt);
  CHECK(weight(Cause::nvls_off, set("NCCL_NVLS_ENABLE", "1."), world) == 1);
  CHECK(weight(Cause::sockets, set("NCCL_IB_DISABLE", "1."), world) > beyond_doubt);
  CHECK(weight(Cause::sockets, set("NCCL_NET", "Socket"), world) > beyond_doubt);
  CHECK(weight(Cause::no_gdr, set("NCCL_NET_GDR_LEVEL", "LOC"), world) > beyond_doubt);
  CHECK(weight(Cause::fewer_nics, set("NCCL_IB_HCA", "mlx5_0"), world) > 10);
  CHECK(weight(Cause::pxn_off, set("NCCL_PXN_DISABLE", "1."), world) == 1);
  // Connections count for more.
  CHECK(weight(Cause::sockets, set("NCCL_IB_DISABLE", "1.") + edge(0, 8, "NET/IB/0/GDRDMA"), world) < 1 / beyond_doubt);
}

TEST_CASE("topology and ACS give hints", "[calibrate]") {
  const auto world = world_of("{profile: hgx-h100}", 2);
  CHECK(weight(Cause::vm_topology, line("Loading topology file /etc/topo.xml"), world) < 1);
  CHECK(weight(Cause::vm_topology, line("Could not open XML topology file /x.xml : No such file or directory"), world) >
        10);
  CHECK(weight(Cause::vm_topology,
               line("Topology detection: network path /sys/devices/virtual/net/eth0 is not a PCI device (x). Attaching "
                    "to first CPU"),
               world) > 10);
  CHECK(weight(Cause::acs,
               line("HINT: In many cases this error occurs when ACS is enabled which would break GPU Direct RDMA "
                    "protocol."),
               world) > 10);
  const auto matrix = [](const char* route) {
    return fmt::format(
        "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\t{0}\t0-47\t0\nGPU1\tNV18\t X "
        "\t{0}\t0-47\t0\n"
        "NIC0\t{0}\t{0}\t X \t\t\n\nLegend:\n",
        route);
  };
  CHECK(weight(Cause::vm_topology, matrix("PHB"), world) > 10);
  CHECK(weight(Cause::vm_topology, matrix("PIX"), world) < 1);
}

TEST_CASE("wrong results are evidence for damaged data", "[calibrate]") {
  const auto world = world_of("{profile: hgx-h100}", 1);
  LogTable table;
  table.operation = "all_reduce";
  table.rows = {{1, 1024, 10, {}, 0, {}}, {2, 2048, 10, {}, 3, {}}};
  Imported log;
  log.tables = {table};
  CHECK(evidence(log, world).at(Cause::data_corruption) > beyond_doubt);
  log.tables[0].rows[1].wrong = 0;
  CHECK_FALSE(evidence(log, world).contains(Cause::data_corruption));
  // Damaged data are the first suspect although times are as forecast.
  MeasuredSeries series{world.scenario(), {}, "test", {}, {}};
  set_sizes(series.scenario, {1 << 16, 1 << 24, 1 << 28});
  for (const ForecastRow& row : run_forecast(build_world(series.scenario)).rows) series.times.push_back(row.time);
  const CheckReport report = check({series}, unmeasured_site(), {{Cause::data_corruption, 1e12}});
  CHECK(report.suspects.front().cause == Cause::data_corruption);
}

}  // namespace
}  // namespace fabricast
