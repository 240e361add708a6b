// Measured cases from logs.
#include "fabricast/calibrate/import_cases.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "fabricast/core/file.hpp"
#include "support/import_text.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

std::string log_of(const std::string& test, const std::string& gpu, int nodes, int per_node) {
  std::string text = "# Collective test starting: " + test + "\n# nThread 1 nGpus 1 warmup iters: 5 iters: 20\n";
  for (int r = 0; r < nodes * per_node; ++r)
    text += "#  Rank " + std::to_string(r) + " Group 0 Pid " + std::to_string(r) + " on host" +
            std::to_string(r / per_node) + " device " + std::to_string(r % per_node) + " [0000:19:00] " + gpu + "\n";
  const auto row = [&](int bytes, double algbw, int wrong) {
    const double busbw = algbw * 2 * (nodes * per_node - 1) / (nodes * per_node);
    return fmt::format("{} {} float sum -1 12.50 {:.2f} {:.2f} {}\n", bytes, bytes / 4, algbw, busbw, wrong);
  };
  return text + "# size count type redop root time algbw busbw #wrong\n" + row(0, 0, 0) + row(1024, 0.08192, 0) +
         row(2048, 0.16384, 2);
}

const std::string nccl =
    "a:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring\na:1:2 [0] NCCL INFO NCCL_DEBUG_SUBSYS set by "
    "environment "
    "to ALL\na:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.4<0>\na:1:2 [0] "
    "NCCL "
    "INFO NVLS multicast support is available on dev 0\na:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via "
    "NET/IB/0/GDRDMA\n";

std::string words_of_error(const NamedLogs& logs, const Scenario* scenario) {
  try {
    cases_of_logs(logs, "lab", scenario);
  } catch (const UserError& e) { return e.what(); }
  return {};
}

TEST_CASE("what a log tells is enough for one node with a topology", "[import]") {
  const std::string text = log_of("all_reduce_perf", "NVIDIA H100 80GB HBM3", 1, 8) + nccl;
  const ImportedCases cases = cases_of_logs({{"x.log", import_text_of(text)}}, "lab", nullptr);
  REQUIRE(cases.cases.size() == 1);
  const MeasuredCase& c = cases.cases[0];
  CHECK(c.id == "lab-all-reduce-1n8g");
  CHECK(c.gpu == "h100-sxm");
  CHECK(c.intranode == "nvswitch");
  CHECK(c.gpus_per_node == 8);
  CHECK(c.env == std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}});
  CHECK(c.harness.at("ranks_per_process") == "1");
  CHECK(c.harness.at("iterations") == "20");
  CHECK_FALSE(c.nics);
  REQUIRE(c.rows.size() == 1);
  CHECK(c.rows[0].bytes == 1024);
  CHECK(cases.left_out.size() == 2);  // no bytes; wrong results
}

TEST_CASE("what nobody tells is named, and comes from the scenario if there is one", "[import]") {
  const std::string text = log_of("all_reduce_perf", "NVIDIA H100 80GB HBM3", 2, 8);
  const NamedLogs alone = {{"x.log", import_text_of(text)}};
  CHECK(words_of_error(alone, nullptr).find("needs: intranode, link, nics, nic_gbps") != std::string::npos);
  const Scenario scenario =
      parse_scenario("fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: {}\n", "s.yaml").scenario;
  const MeasuredCase c = cases_of_logs(alone, "lab", &scenario).cases.at(0);
  CHECK(c.nodes == 2);  // the log's, not the scenario's
  CHECK(c.link == "infiniband");
  CHECK(c.nics == 8);
  CHECK(c.nic_gbps == 400.0);
  // NCCL's own lines go before the scenario.
  const MeasuredCase stated = cases_of_logs({{"x.log", import_text_of(text + nccl)}}, "lab", &scenario).cases.at(0);
  CHECK(stated.nics == 2);
  CHECK(stated.gdr == true);
}

TEST_CASE("a log and a scenario that contradict each other make no case", "[import]") {
  const Scenario scenario =
      parse_scenario("fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nworkload: {}\n", "s.yaml").scenario;
  const auto logs = [](const std::string& text) { return NamedLogs{{"x.log", import_text_of(text)}}; };
  CHECK(words_of_error(logs(log_of("all_reduce_perf", "NVIDIA A100-SXM4-80GB", 2, 8)), &scenario)
            .find("gpu: the log states 'a100-sxm', the scenario 'h100-sxm'") != std::string::npos);
  CHECK(words_of_error(logs(log_of("all_reduce_perf", "NVIDIA H100 80GB HBM3", 2, 4)), &scenario)
            .find("GPUs per node: the log states '4', the scenario '8'") != std::string::npos);
}

TEST_CASE("cases are text whatever bytes stand in a log or its name", "[import]") {
  std::string text = log_of("all_reduce_perf", "NVIDIA H100 80GB HBM3", 1, 8) + nccl;
  for (std::size_t at = 0; (at = text.find("sum -1", at)) != std::string::npos;) text.replace(at, 6, "s\xbfm -\xff");
  const ImportedCases cases = cases_of_logs({{"\xfe.log", import_text_of(text)}}, "lab\xff", nullptr);
  CHECK(cases.cases.at(0).set_aside == "root -?");
  CHECK(find_not_utf8(cases_json(cases)) == std::string::npos);
}

TEST_CASE("what a scenario can not say sets a case aside", "[import]") {
  const std::string text = log_of("all_reduce_perf", "NVIDIA H100 80GB HBM3", 1, 8) + nccl;
  const auto why = [](std::string log, const std::string& from, const std::string& to) {
    if (!from.empty()) log.replace(log.find(from), from.size(), to);
    return cases_of_logs({{"x.log", import_text_of(log)}}, "lab", nullptr).cases.at(0).set_aside;
  };
  CHECK(why(text, "", "").empty());
  CHECK(why(text, "iters: 20", "iters: 20 agg iters: 1 graph: 4") == "CUDA graphs");
  CHECK(why(text, "iters: 20", "iters: 20 agg iters: 8 graph: 0") == "grouped calls");
  CHECK(why(text, "NCCL_ALGO set by environment to Ring", "NCCL_TOPO_FILE set by environment to /t.xml") ==
        "NCCL_TOPO_FILE names a file");
}

TEST_CASE("logs of one system complete each other, those of two are refused", "[import]") {
  const std::string text = log_of("all_reduce_perf", "NVIDIA H100 80GB HBM3", 2, 8);
  const Imported topo = import_text_of("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-3\nGPU1\tPHB\t X \t0-3\n");
  CHECK(words_of_error({{"x.log", import_text_of(text)}, {"y.log", topo}}, nullptr).find("intranode") ==
        std::string::npos);
  CHECK(words_of_error({{"x.log", import_text_of(text + nccl)}, {"y.log", topo}}, nullptr)
            .find("the connection between GPUs differs") != std::string::npos);
}

TEST_CASE("written cases are read again", "[import]") {
  const std::string text = log_of("all_reduce_perf", "NVIDIA H100 80GB HBM3", 1, 8) + nccl;
  const ImportedCases cases = cases_of_logs({{"x.log", import_text_of(text + text)}}, "lab", nullptr);
  REQUIRE(cases.cases.size() == 2);
  CHECK(cases.cases[1].id == "lab-all-reduce-1n8g-2");
  const std::string json = cases_json(cases);
  CHECK(json.find("\"link\": null") != std::string::npos);
  CHECK(json.find("\"ranks_per_process\": 1") != std::string::npos);
  CHECK(json.find("\"sources\": [\n   \"x.log\"") != std::string::npos);
  const Scratch scratch;
  const std::string path = scratch / "cases.json";
  write_file(path, json);
  const std::vector<MeasuredCase> read = read_cases(path);
  REQUIRE(read.size() == 2);
  CHECK(read[0].env == cases.cases[0].env);
  CHECK(read[0].harness == cases.cases[0].harness);
  CHECK(read[0].rows[0].time_us == 12.5);
  CHECK(read[0].gpu == "h100-sxm");
  CHECK_NOTHROW(parse_scenario(scenario_of(read[0]), "case.yaml"));
}

TEST_CASE("products are told apart, and unknown ones are not guessed", "[import]") {
  CHECK(gpu_of_product("NVIDIA H100 80GB HBM3") == "h100-sxm");
  CHECK(gpu_of_product("NVIDIA H100 PCIe") == "h100-pcie");
  CHECK(gpu_of_product("A100-SXM4-40GB") == "a100-sxm");
  CHECK(gpu_of_product("NVIDIA H200") == "h200-sxm");
  CHECK(gpu_of_product("NVIDIA H200 NVL") == "h200-nvl");
  CHECK(gpu_of_product("NVIDIA L40") == "l40");
  CHECK(gpu_of_product("NVIDIA GH200 480GB") == "gh200");
  CHECK(gpu_of_product("NVIDIA GeForce RTX 4090") == "rtx4090");
  CHECK(gpu_of_product("NVIDIA RTX 6000 Ada Generation") == "rtx6000-ada");
  CHECK(gpu_of_product("NVIDIA RTX PRO 6000 Blackwell Server Edition") == "rtx-pro-6000");
  CHECK(gpu_of_product("NVIDIA B300 SXM6 AC") == "b300");
  // A part of a GPU is not that GPU, and what several are called tells nothing.
  CHECK(gpu_of_product("NVIDIA A100-SXM4-40GB MIG 1g.5gb").empty());
  CHECK(gpu_of_product("NVIDIA H100").empty());
  CHECK(gpu_of_product("NVIDIA L4") == "l4");
  CHECK(gpu_of_product("NVIDIA Graphics Device").empty());
}

}  // namespace
}  // namespace fabricast
