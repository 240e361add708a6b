// A log against what the cluster should be, by the binary. Logs are forecasts of what is wrong, in nccl-tests' words.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command_line.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::json;

const std::string scenario =
    "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nfabric: {kind: rail_optimized}\n"
    "nccl: {version: \"2.27\"}\nworkload: {collective: all_reduce, from: 1KiB, to: 4GiB, factor: 4}\n";

/// What nccl-tests would print if it ran as the scenario with `set`.
std::string log_of(const std::string& file, const std::string& set) {
  std::string log =
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4294967296 step: 4(factor) warmup iters: 5 iters: 20 "
      "agg iters: 1 validation: 1 graph: 0\n";
  for (int rank = 0; rank < 16; ++rank)
    log += fmt::format("#  Rank {:2} Group  0 Pid {} on node{} device  {} [0x1b] NVIDIA H100 80GB HBM3\n", rank, rank,
                       rank / 8, rank % 8);
  log += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  const Json forecast = Json::parse(output("run " + file + " " + set + " --json -"));
  for (const Json& row : forecast.at("rows")) {
    const auto bytes = row.at("bytes").get<std::int64_t>();
    const double time = row.at("time_us"), rate = static_cast<double>(bytes) / time * 1e-3;
    log += fmt::format("{:12} {:13} float sum -1 {:.2f} {:.2f} {:.2f} 0\n", bytes, bytes / 4, time, rate,
                       rate * 2 * 15 / 16);
  }
  return log;
}

struct Checked {
  int code;
  Json report;
};

/// \param set    what is wrong with the cluster that was measured
/// \param words  of the scenario that it is compared with
/// \param against  whether an earlier log is given, of the cluster when nothing was wrong
Checked check(const Scratch& folder, const std::string& set, const std::string& more = {},
              const std::string& words = scenario, bool against = false) {
  const std::string file = folder / "s.yaml", log = folder / "run.log";
  std::ofstream(file) << words;
  std::ofstream(log) << log_of(file, set) + more;
  const std::string good = folder / "good.log";
  std::ofstream(good) << log_of(file, "");
  const Ran ran =
      run_fabricast("check " + log + " --scenario " + file + (against ? " --against " + good : "") + " --json -");
  INFO(ran.err);
  REQUIRE_FALSE(ran.out.empty());
  return {ran.code, Json::parse(ran.out)};
}

TEST_CASE("a cluster as forecast is healthy", "[check]") {
  const Scratch folder;
  const Checked c = check(folder, "");
  CHECK(c.code == 0);
  CHECK(c.report.at("healthy") == true);
  CHECK(c.report.at("measured_over_forecast").get<double>() == Approx(1).epsilon(1e-3));
  CHECK(c.report.at("rows").size() == 12);
  for (const Json& row : c.report.at("rows")) CHECK(row.at("verdict") == "expected");
}

TEST_CASE("what costs time is named, with a command to confirm it", "[check]") {
  const Scratch folder;
  constexpr bool against = true;  // a tenth more or less tells only beside what the cluster did before
  // A tree of heads hides the way through the host: it asks little of the NICs between two nodes.
  std::string rings = scenario;
  rings.replace(rings.find("\"2.27\""), 6, "\"2.27\", env: {NCCL_ALGO: Ring}");
  const std::map<std::string, std::string> faults = {{"sockets", "--set nccl.env.NCCL_NET=Socket"},
                                                     {"no_gdr", "--set node.gdr=false"},
                                                     {"nvls_off", "--set nccl.env.NCCL_NVLS_ENABLE=0"},
                                                     {"fewer_nics", "--set node.nics.count=4"}};
  for (const auto& [cause, set] : faults) {
    INFO(cause);
    const Checked c = check(folder, set, {}, cause == "no_gdr" ? rings : scenario, against);
    CHECK(c.code == 1);
    const Json& first = c.report.at("causes").at(0);
    CHECK(first.at("cause") == cause);
    CHECK(first.at("probability") > 0.4);
    CHECK_FALSE(first.at("confirm").get<std::string>().empty());
    const Json& rows = c.report.at("rows");
    CHECK(std::any_of(rows.begin(), rows.end(), [](const Json& row) { return row.at("verdict") == "slow"; }));
  }
}

TEST_CASE("what NCCL says of itself counts", "[check]") {
  const Scratch folder;
  const std::string set = "--set faults=\"[{link: node0.nic0, rate: 50%}]\"";
  const auto probability = [&](const std::string& more, const char* cause) {
    const Checked c = check(folder, set, more);
    for (const Json& s : c.report.at("causes"))
      if (s.at("cause") == cause) return s.at("probability").get<double>();
    return 0.0;
  };
  const double before = probability("", "fewer_nics");
  std::string four = "node0:1:2 [0] NCCL INFO NET/IB : Using";
  for (int i = 0; i < 4; ++i) four += fmt::format(" [{}]mlx5_{}:1/IB", i, i);
  CHECK(probability(four + "; OOB eth0:10.0.0.4<0>\n", "fewer_nics") > std::min(0.5, 5 * before));
}

TEST_CASE("what a connection states outweighs what times look like", "[check]") {
  const Scratch folder;
  const Checked c = check(folder, "--set nccl.env.NCCL_P2P_DISABLE=1",
                          "node0:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n");
  CHECK(c.code == 1);
  CHECK(c.report.at("causes").at(0).at("cause") == "no_p2p");
  CHECK(c.report.at("causes").at(0).at("probability") > 0.99);
  // The opposite makes it unlikely even of times that nothing else explains.
  const Checked other = check(folder, "--set nccl.env.NCCL_P2P_DISABLE=1",
                              "node0:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n");
  for (const Json& cause : other.report.at("causes"))
    if (cause.at("cause") == "no_p2p") CHECK(cause.at("probability") < 0.01);
}

TEST_CASE("hosts with fewer GPUs than the scenario's are another cluster", "[check]") {
  const Scratch folder;
  const std::string file = folder / "s.yaml", path = folder / "run.log";
  std::ofstream(file) << scenario;
  std::string log = log_of(file, "");
  for (std::size_t at; (at = log.find(" on node1 ")) != std::string::npos;) log.replace(at, 10, " on node0 ");
  std::ofstream(path) << log;
  const Ran ran = run_fabricast("check " + path + " --scenario " + file);
  CHECK(ran.code == 1);
  CHECK_THAT(ran.out, Catch::Matchers::Contains("node.gpus: the log states 16 (line "));
}

TEST_CASE("CSV that names its collectives is judged as a log is", "[check]") {
  const Scratch folder;
  const std::string file = folder / "s.yaml", path = folder / "run.csv";
  std::ofstream(file) << scenario;
  std::string csv = "collective,size,time_us\n";
  const Json forecast = Json::parse(output("run " + file + " --json -"));
  for (const Json& row : forecast.at("rows"))
    csv += fmt::format("all_reduce,{},{:.2f}\n", row.at("bytes").get<std::int64_t>(), row.at("time_us").get<double>());
  std::ofstream(path) << csv;
  const Ran ran = run_fabricast("check " + path + " --scenario " + file + " --json -");
  CHECK(ran.code == 0);
  CHECK(Json::parse(ran.out).at("rows").size() == 12);
}

TEST_CASE("wrong results and logs of other clusters are no question of speed", "[check]") {
  const Scratch folder;
  const std::string file = folder / "s.yaml", path = folder / "run.log";
  std::ofstream(file) << scenario;
  const std::string log = log_of(file, "");
  std::string damaged = log, other = log;
  const std::size_t last = damaged.rfind(" 0\n");
  damaged.replace(last, 3, " 12\n");
  for (std::size_t at; (at = other.find("NVIDIA H100 80GB HBM3")) != std::string::npos;)
    other.replace(at, 21, "NVIDIA A100-SXM4-80GB");
  std::ofstream(path) << damaged;
  const Ran wrong = run_fabricast("check " + path + " --scenario " + file);
  CHECK(wrong.code == 1);
  CHECK_THAT(wrong.out, Catch::Matchers::Contains("not healthy: 12 wrong results, at 1 of the sizes"));
  std::ofstream(path) << other;
  const Ran foreign = run_fabricast("check " + path + " --scenario " + file + " --json -");
  CHECK(foreign.code == 1);
  const Json report = Json::parse(foreign.out);
  CHECK(report.at("healthy").is_null());
  CHECK(report.at("contradictions").at(0).at("key") == "node.gpu");
  CHECK_FALSE(report.contains("causes"));
}

}  // namespace
}  // namespace fabricast
