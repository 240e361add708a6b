// `export`, `explain --advise` and `nccl.selection` as a user meets them.
#include <catch2/catch.hpp>

#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/command_line.hpp"
#include "support/tuner_plugin.hpp"

namespace {

using fabricast::output;
using fabricast::Ran;
using fabricast::read_text;
using fabricast::run_shell;
using fabricast::Scratch;
using fabricast::test::TunerPlugin;
using nlohmann::json;

json times(const std::string& words) {
  json list = json::array();
  const json forecast = json::parse(output("run " + words + " --json -"));
  for (const json& row : forecast.at("rows")) list.push_back(row.at("time_us"));
  return list;
}

}  // namespace

TEST_CASE("export tuner writes what the plugin reads, on any number of threads", "[export]") {
  const Scratch scratch;
  const std::string file = scratch / "tuner.csv";
  CHECK(output("export tuner scenarios/two_nodes.yaml -o " + file).empty());
  CHECK(scratch.files() == 1);
  const std::string table = read_text(file);
  CHECK(table == output("export tuner scenarios/two_nodes.yaml --threads 1"));
  CHECK(table.starts_with("# "));
  const TunerPlugin plugin(table);
  for (int function = 0; function < 5; ++function) {
    const auto small = plugin.ask(function, 8, 2, 16), large = plugin.ask(function, std::uint64_t{1} << 33, 2, 16);
    CHECK(small.found);
    CHECK(small.protocol == 0);  // LL for what is all latency
    CHECK(large.found);
    CHECK(large.protocol == 2);
    CHECK(large.channels == 16);
  }
}

TEST_CASE("export env is a script whose settings gain what it says", "[export]") {
  const Scratch scratch;
  const std::string file = scratch / "nccl.sh", scenario = "scenarios/nodes64_fat_tree.yaml --set routing.seeds=4";
  output("export env " + scenario + " -o " + file);
  const std::string script = read_text(file);
  INFO(script);
  const Ran sourced = run_shell(". " + file + "; env | grep ^NCCL_ | sort");
  REQUIRE(sourced.code == 0);
  std::istringstream lines(sourced.out);
  std::string options;
  for (std::string line; std::getline(lines, line);) options += " --set 'nccl.env." + line + "'";
  CHECK_FALSE(options.empty());
  const json before = times(scenario), after = times(scenario + options);
  double log_sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) log_sum += std::log(after[i].get<double>() / before[i].get<double>());
  const double percent = 100 * (1 - std::exp(log_sum / static_cast<double>(before.size())));
  const auto at = script.find("# All together: ");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(script.substr(at + 16)) == Approx(percent).margin(0.06));

  CHECK(output("export env scenarios/two_nodes.yaml --threads 1") ==
        output("export env scenarios/two_nodes.yaml --threads 4"));

  const json advice = json::parse(output("explain " + scenario + " --advise --json -")).at("advice");
  CHECK(advice.at("gain").get<double>() == Approx(percent / 100).epsilon(1e-6));
  CHECK(advice.at("settings").at(0).at("rows").size() == before.size());
  const std::string text = output("explain " + scenario + " --advise");
  for (const json& a : advice.at("settings")) {
    CHECK(script.find("# " + a.at("what").get<std::string>() + ": ") != std::string::npos);
    for (const json& word : a.at("set"))
      CHECK(text.find("--set '" + word.get<std::string>() + "'") != std::string::npos);
  }
}

TEST_CASE("export env unsets what is better left to NCCL, and a name can not break out of a comment", "[export]") {
  const Scratch scratch;
  const std::string scenario = scratch / "s.yaml", file = scratch / "nccl.sh";
  std::ofstream(scenario)
      << "fabricast: 1\nname: \"x\\necho broken\"\nnode: {profile: hgx-h100}\ncluster: {nodes: 16}\n"
         "nccl: {env: {NCCL_ALGO: Ring, NCCL_PROTO: Simple}}\n"
         "workload: {sizes: [1KiB, 64KiB]}\n";
  output("export env " + scenario + " -o " + file);
  const Ran sourced = run_shell("export NCCL_ALGO=Ring NCCL_PROTO=Simple; . " + file + "; env | grep ^NCCL_");
  INFO(read_text(file));
  CHECK(sourced.out.find("broken") == std::string::npos);
  CHECK(sourced.out.find("NCCL_PROTO=Simple") == std::string::npos);
  CHECK(output("export tuner " + scenario).find("\necho") == std::string::npos);
}

TEST_CASE("explain says what NCCL's choice costs", "[export]") {
  const std::string words = " scenarios/two_nodes.yaml --set 'workload={sizes: [256KiB]}'";
  const json r = json::parse(output("explain" + words + " --json -")).at("row");
  const json s = r.at("selection");
  const json best = json::parse(output("run" + words + " --set nccl.selection=best --json -")).at("rows").at(0);
  CHECK(s.at("nccl").at("time_us") == r.at("time_us"));
  CHECK(s.at("best").at("time_us") == best.at("time_us"));
  CHECK(s.at("best").at("protocol") == best.at("protocol"));
  CHECK(best.at("nccl_time_us") == r.at("time_us"));
  const double cost = s.at("nccl").at("time_us").get<double>() - s.at("best").at("time_us").get<double>();
  REQUIRE(cost > 0);
  CHECK(s.at("cost_us").get<double>() == Approx(cost));
  CHECK(s.at("cost_percent").get<double>() == Approx(100 * cost / s.at("best").at("time_us").get<double>()));
  const std::string text = output("explain" + words);
  CHECK(text.find("% slower than the fastest") != std::string::npos);
  CHECK(output("run" + words + " --set nccl.selection=best").find("(NCCL: ") != std::string::npos);
}

TEST_CASE("Ctrl-C ends an export with no file left behind", "[export]") {
  const Scratch scratch;
  const std::string what = GENERATE(as<std::string>(), "tuner", "env");
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run_shell("exec timeout --preserve-status -s INT 0.5 $fabricast export " + what +
                            " scenarios/nodes64_fat_tree.yaml --set routing.seeds=100000 -o " + (scratch / "out"));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(ran.code == 130);
  CHECK(ran.err == "interrupted\n");
  CHECK(scratch.files() == 0);
  CHECK(took.count() < 2);
}
