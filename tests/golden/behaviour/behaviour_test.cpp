// What holds of the binary whatever it forecasts: the same bytes on every run, files whole or not at all, a prompt end.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/command_line.hpp"

namespace {

using fabricast::output;
using fabricast::Ran;
using fabricast::read_text;
using fabricast::run_shell;
using fabricast::Scratch;
using nlohmann::json;

/// A forecast that takes minutes.
const std::string long_run = "run scenarios/nodes64_fat_tree.yaml --set routing.seeds=100000";

/// A fabric file with relative names, beside its scenario.
void write_file_scenario(const Scratch& scratch) {
  std::ofstream(scratch / "scenario.yaml")
      << "fabricast: 1\n"
         "name: \"#1: a 'quoted' name\"\n"
         "node: {gpu: l40s, gpus: 2, nics: {count: 1, rate: 100Gbps}, profile: profile.json}\n"
         "cluster: {nodes: 2, placement: [1, 0]}\n"
         "fabric: {kind: file, path: fabric.yaml}\n"
         "nccl: {version: \"2.21\", env: {NCCL_ALGO: \"Ring\"}}\n"
         "faults: [{link: tor0, rate: 12.5%, at: 1.5us}]\n"
         "workload: {collective: all_gather, sizes: [1MiB, 1000000B, 3B]}\n";
  std::ofstream(scratch / "fabric.yaml")
      << "switches: [tor0]\nlinks:\n  - {from: node0.nic0, to: tor0}\n  - {from: node1.nic0, to: tor0}\n";
  std::ofstream(scratch / "profile.json")
      << R"({"software": {"channel_launch": {"value": 0.5, "low": 0.1, "high": 1, "source": "test"}}})";
}

}  // namespace

TEST_CASE("explain says once what NCCL considered, and nothing where it had no choice", "[behaviour]") {
  const auto headings = [](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("what NCCL considered", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  CHECK(headings(output("explain scenarios/two_nodes.yaml --size 1MiB")) == 1);
  CHECK(headings(output("explain scenarios/two_nodes.yaml --size 1MiB --set nccl.version=unknown")) == 1);
  CHECK(headings(output("explain scenarios/two_nodes.yaml --size 1MiB --set workload.collective=alltoall")) == 0);
}

TEST_CASE("what the provider of a machine sets is said, and the user's word wins", "[behaviour]") {
  const std::string machine = "scenarios/two_nodes.yaml --set node.profile=a4";
  const std::string lead = "set by Google's gIB: NCCL_CROSS_NIC=0";
  CHECK_THAT(output("run " + machine), Catch::Contains("# " + lead));
  CHECK_THAT(output("explain " + machine + " --size 1MiB"), Catch::Contains("  " + lead));
  CHECK_THAT(output("describe a4"), Catch::Contains("  variables " + lead));
  const json stated = json::parse(output("explain " + machine + " --size 1MiB --json -")).at("set_by_provider");
  CHECK(stated.at("from") == "Google's gIB");
  CHECK(stated.at("variables").at("NCCL_IB_QPS_PER_CONNECTION") == "4");
  const json own = json::parse(output("run " + machine + " --set nccl.env.NCCL_IB_QPS_PER_CONNECTION=1 --json -"));
  CHECK_FALSE(own.at("set_by_provider").at("variables").contains("NCCL_IB_QPS_PER_CONNECTION"));
}

TEST_CASE("explain says on which trees switches reduce, and why they do not", "[behaviour]") {
  const auto line = [](const std::string& words) {
    const std::string text = output("explain scenarios/sharp.yaml --set nccl.env.NCCL_ALGO=NVLS,Ring " + words);
    const auto at = std::min(text.find("switches reduce on"), text.find("switches do not"));
    if (at == std::string::npos) return std::string();
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(line("--size 1KiB") ==
        "switches reduce on low-latency trees, up to 128B per message, 8 pieces of 1KiB at once");
  CHECK(line("--size 16MiB") == "switches reduce on streaming trees, up to 32KiB per message");
  CHECK(line("--size 16MiB --set sharp.other_trees=504") ==
        "switches do not reduce: SHARP v3 has 511 trees: 504 are in use, and the job needs 8)");
  CHECK(line("--size 16MiB --set nccl.env.NCCL_COLLNET_ENABLE=0").empty());
}

TEST_CASE("a forecast is the same bytes on every run and number of threads", "[behaviour]") {
  const std::string words =
      GENERATE(as<std::string>(), "run scenarios/ecmp_collision.yaml", "run scenarios/nodes64_fat_tree.yaml",
               "run scenarios/two_nodes.yaml", "explain scenarios/oversubscription_4.yaml");
  CAPTURE(words);
  const std::string once = output(words + " --json - --threads 1");
  CHECK(output(words + " --json - --threads 1") == once);
  CHECK(output(words + " --json - --threads 4") == once);
  CHECK(output(words + " --threads 4") == output(words + " --threads 1"));
}

TEST_CASE("the effective scenario gives the same forecast, and itself", "[behaviour]") {
  const Scratch scratch;
  write_file_scenario(scratch);
  const std::string shipped = GENERATE(as<std::string>(), "scenarios/one_node.yaml", "scenarios/two_nodes.yaml",
                                       "scenarios/nodes64_rail_optimized.yaml", "scenarios/oversubscription_2.yaml",
                                       "scenarios/ecmp_collision.yaml", "scenarios/nic_down_and_back.yaml",
                                       "scenarios/gdr_off.yaml", "scenarios/wrong_numa.yaml", "");
  const std::string scenario = shipped.empty() ? scratch / "scenario.yaml" : shipped;
  CAPTURE(scenario);
  const Scratch elsewhere;
  const std::string dumped = elsewhere / "effective.yaml";
  std::ofstream(dumped) << output("run " + scenario + " --dump-effective");
  CHECK(output("run " + dumped + " --dump-effective") == read_text(dumped));
  const json before = json::parse(output("run " + scenario + " --json -")),
             after = json::parse(output("run " + dumped + " --json -"));
  CHECK(before.at("rows") == after.at("rows"));
  CHECK(before.at("fingerprint") == after.at("fingerprint"));
}

TEST_CASE("an override is the same as an edit", "[behaviour]") {
  const Scratch scratch;
  std::string text = read_text(FABRICAST_SOURCES "/scenarios/gdr_off.yaml");
  const auto at = text.find("nodes: 64");
  std::ofstream(scratch / "edited.yaml") << text.replace(at, 9, "nodes: 32");
  CHECK(output("run scenarios/gdr_off.yaml --set cluster.nodes=32 --json -") ==
        output("run " + (scratch / "edited.yaml") + " --json -"));
}

TEST_CASE("JSON, CSV and the table tell the same", "[behaviour]") {
  const Scratch scratch;
  const std::string words = "run scenarios/nodes64_fat_tree.yaml";
  const std::string table = output(words + " --json " + (scratch / "f.json") + " --csv " + (scratch / "f.csv"));
  CHECK(table == output(words));
  const std::string text = read_text(scratch / "f.json");
  CHECK(text == output(words + " --json -"));
  CHECK(read_text(scratch / "f.csv") == output(words + " --csv -"));
  CHECK(scratch.files() == 2);

  std::istringstream csv(read_text(scratch / "f.csv"));
  std::string line, cell;
  std::getline(csv, line);
  std::vector<std::string> names;
  for (std::istringstream cells(line); std::getline(cells, cell, ',');) names.push_back(cell);
  const json rows = json::parse(text).at("rows");
  for (const json& row : rows) {
    REQUIRE(std::getline(csv, line));
    std::istringstream cells(line);
    for (const std::string& name : names) {
      REQUIRE(std::getline(cells, cell, ','));
      if (row.at(name).is_string())
        CHECK(row.at(name) == cell);
      else
        CHECK(row.at(name).get<double>() == Approx(std::stod(cell)).epsilon(1e-9));
    }
    CHECK(table.find(std::to_string(row.at("bytes").get<std::int64_t>()) + " ") != std::string::npos);
  }
  CHECK_FALSE(std::getline(csv, line));
}

TEST_CASE("a version that is not known is a range, in JSON and in the table", "[behaviour]") {
  const Scratch scratch;
  std::ofstream(scratch / "s.yaml") << "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\n"
                                       "nccl: {version: unknown}\nworkload: {sizes: [64KiB, 1GiB]}\n";
  const std::string run = "run " + scratch / "s.yaml";
  const json forecast = json::parse(output(run + " --json -"));
  CHECK(forecast.at("scenario").at("nccl").at("version") == "unknown");
  for (const json& row : forecast.at("rows")) {
    double low = 1e9, high = 0;
    for (const json& v : row.at("by_nccl_version")) {
      low = std::min(low, v.at("time_us").get<double>()), high = std::max(high, v.at("time_us").get<double>());
      const json alone =
          json::parse(output(run + " --set nccl.version=" + v.at("nccl_from").get<std::string>() + " --json -"));
      const json& same = alone.at("rows").at(row.at("bytes") == 65536 ? 0 : 1);
      CHECK(same.at("time_us") == v.at("time_us"));
      CHECK_FALSE(same.contains("by_nccl_version"));
    }
    CHECK(row.at("time_us_low") == low);
    CHECK(row.at("time_us_high") == high);
  }
  CHECK_THAT(output(run), Catch::Contains("NCCL's version may be unknown") && Catch::Contains("low      high"));
}

TEST_CASE("a file that can not be written whole is left as it was", "[behaviour]") {
  const Scratch scratch;
  const std::string file = scratch / "old.json";
  std::ofstream(file) << "old";
  const Ran ran = run_shell("ulimit -f 1; exec $fabricast run scenarios/two_nodes.yaml --json " + file + " >/dev/null");
  CHECK(ran.code == 2);
  CHECK(ran.err == "error: cannot write '" + file + "': file too large\n");
  CHECK(read_text(file) == "old");
  CHECK(scratch.files() == 1);
}

TEST_CASE("a pipe is written to and stays a pipe, a link stays a link", "[behaviour]") {
  // A pipe stands for all devices: where this fails, /dev/null would be replaced by a file.
  const Scratch scratch;
  const std::string pipe = scratch / "pipe";
  const Ran ran = run_shell("mkfifo " + pipe + "; timeout 10 cat " + pipe +
                            " & $fabricast run scenarios/two_nodes.yaml --json " + pipe + " >/dev/null; wait");
  CHECK(ran.out == output("run scenarios/two_nodes.yaml --json -"));
  CHECK(std::filesystem::is_fifo(pipe));

  std::ofstream(scratch / "target.json") << "old";
  std::filesystem::create_symlink(scratch / "target.json", scratch / "link.json");
  output("run scenarios/two_nodes.yaml --json " + (scratch / "link.json"));
  CHECK(std::filesystem::is_symlink(scratch / "link.json"));
  CHECK(read_text(scratch / "target.json") == output("run scenarios/two_nodes.yaml --json -"));
}

TEST_CASE("Ctrl-C ends a long run within a second, with nothing left behind", "[behaviour]") {
  const Scratch scratch;
  const std::string signal = GENERATE(as<std::string>(), "INT", "TERM");
  CAPTURE(signal);
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run_shell("exec timeout --preserve-status -s " + signal + " 0.5 $fabricast " + long_run + " --json " +
                            (scratch / "f.json"));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(ran.code == 130);
  CHECK(ran.err == "interrupted\n");
  CHECK(ran.out.empty());
  CHECK(scratch.files() == 0);
  CHECK(took.count() > 0.5);
  CHECK(took.count() < 0.5 + 1 + 0.5);  // the last half for starting and ending processes
}

TEST_CASE("a reader that has seen enough is no fault", "[behaviour]") {
  const Ran ran = run_shell("$fabricast list parameters | true; exit ${PIPESTATUS[0]}");
  CHECK(ran.code == 0);
  CHECK(ran.err.empty());
}
