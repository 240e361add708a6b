// `gate` from the command line: floors, verdicts on logs, and the script, run with a stand-in for nccl-tests that
// prints tables in its format.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command_line.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::json;

const std::string one_node =
    "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 1}\nnccl: {version: \"2.27\"}\n"
    "workload: {collective: all_reduce, from: 1MiB, to: 1GiB, factor: 32, harness: {ranks_per_process: 8}}\n";

constexpr const char* header =
    "#                                                              out-of-place                       in-place        "
    "  \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)     "
    "  \n";

std::string table_row(std::int64_t bytes, double us, const std::string& wrong = "0") {
  const double rate = static_cast<double>(bytes) / us * 1e-3, bus = rate * 2 * 7 / 8;
  const std::string half = fmt::format("  {:7.2f}  {:6.2f}  {:6.2f}  {:>6}", us, rate, bus, wrong);
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}{}{}\n", bytes, bytes / 4, "float", "sum", -1, half, half);
}

std::string table(const Json& floors, double ratio, const std::string& wrong = "0") {
  std::string text =
      "# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824 step: 32(factor) warmup iters: 5 iters: 20 agg iters: "
      "1 "
      "validation: 1 graph: 0\n#\n# Using devices\n";
  for (int rank = 0; rank < 8; ++rank)
    text +=
        fmt::format("#  Rank {:2} Group  0 Pid  4711 on  node7 device {:2} [0000:{:02x}:00] NVIDIA H100 80GB HBM3\n",
                    rank, rank, 0x1b + rank);
  text += "#\n" + std::string(header);
  for (const Json& row : floors.at("rows"))
    text += table_row(row.at("bytes"), row.at("expected_us").get<double>() * ratio, wrong);
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 300 \n#\n";
}

/// A node: the scenario, its script, and programs that stand in for others.
struct Node {
  Scratch folder;
  std::string scenario = folder / "s.yaml", script = folder / "gate.sh", log = folder / "log";
  Json floors;

  explicit Node(const std::string& text = one_node, const std::string& words = "") {
    std::ofstream(scenario) << text;
    floors = Json::parse(output("gate " + scenario + words + " --json - --slurm " + script));
    program("all_reduce_perf", "echo \"$*\" >\"$0.words\"\ncat '" + log + "'\nexit \"${TEST_CODE:-0}\"");
    program("scontrol", "printf '<%s>' \"$@\" >'" + (folder / "drained") + "'");
  }
  void program(const std::string& name, const std::string& lines) const {
    std::ofstream(folder / name) << "#!/bin/sh\n" << lines << "\n";
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
  /// \param environment  words before it
  Ran check(const std::string& printed, const std::string& environment = "", const std::string& shell = "sh") const {
    std::ofstream(log) << printed;
    std::filesystem::remove(folder / "drained");
    return run_shell("PATH=" + folder.path.string() + ":$PATH SLURMD_NODENAME=node7 " + environment + " " + shell +
                     " " + script);
  }
  std::string drained() const { return read_text(folder / "drained"); }
};

TEST_CASE("the script passes a node as fast as expected and drains a slow one", "[gate]") {
  const Node node;
  REQUIRE(node.floors.at("rows").size() == 3);
  const Ran good = node.check(table(node.floors, 1));
  INFO(good.err);
  CHECK(good.code == 0);
  CHECK_THAT(good.out, Catch::Matchers::Contains("all sizes are within their ceilings"));
  CHECK(node.drained().empty());
  CHECK(read_text(node.folder / "all_reduce_perf.words") == "-b 1048576 -e 1073741824 -f 32 -g 8 -w 5 -n 20\n");

  const Ran slow = node.check(table(node.floors, 20));
  CHECK(slow.code == 1);
  CHECK_THAT(node.drained(),
             Catch::Matchers::StartsWith("<update><NodeName=node7><State=DRAIN><Reason=fabricast gate: all_reduce "
                                         "1048576 B took "));
  CHECK_THAT(node.drained(), Catch::Matchers::EndsWith(" (and 2 more)>"));

  const Ran undrained = node.check(table(node.floors, 20), "GATE_DRAIN=0");
  CHECK(undrained.code == 1);
  CHECK(node.drained().empty());
  CHECK(node.check(table(node.floors, 20), "GATE_NODE=node9").code == 1);
  CHECK_THAT(node.drained(), Catch::Matchers::Contains("<NodeName=node9>"));
}

TEST_CASE("the script compares every row with its own ceiling, to the last printed digit", "[gate]") {
  const Node node;
  for (std::size_t slow = 0; slow < 3; ++slow)
    for (const double over : {0.999, 1.002}) {
      std::string printed = header;
      for (std::size_t i = 0; i < 3; ++i) {
        const Json& row = node.floors.at("rows").at(i);
        printed += table_row(row.at("bytes"),
                             row.at(i == slow ? "ceiling_us" : "expected_us").get<double>() * (i == slow ? over : 1));
      }
      CHECK(node.check(printed).code == (over > 1 ? 1 : 0));
    }
}

TEST_CASE("wrong results, crashes and hangs are a bad node", "[gate]") {
  const Node node;
  CHECK(node.check(table(node.floors, 1, "3"), "TEST_CODE=1").code == 1);
  CHECK_THAT(node.drained(), Catch::Matchers::Contains("all_reduce 1048576 B has 3 wrong results"));
  CHECK(node.check(table(node.floors, 1, "N/A")).code == 0);
  CHECK(node.check("node7: Test CUDA failure common.cu:1000 'unknown error'\n", "TEST_CODE=2").code == 1);
  CHECK_THAT(node.drained(), Catch::Matchers::Contains("all_reduce failed with exit code 2"));
  node.program("all_reduce_perf", "exec sleep 30");
  CHECK(node.check("", "GATE_TIMEOUT=1").code == 1);
  CHECK_THAT(node.drained(), Catch::Matchers::Contains("all_reduce timed out"));
}

TEST_CASE("a test that cannot be run or read drains nothing", "[gate]") {
  const Node node;
  const auto unjudged = [&](const Ran& ran, const char* why) {
    INFO(ran.out << ran.err);
    CHECK(ran.code == 2);
    CHECK(node.drained().empty());
    CHECK_THAT(ran.err, Catch::Matchers::Contains(std::string("gate: no verdict: ") + why));
  };
  unjudged(node.check("sh: not enough slots\n", "TEST_CODE=1"), "all_reduce did not start (exit code 1)");
  unjudged(node.check("a table of another form\n"), "all_reduce did not print a row for every size");
  unjudged(node.check(std::string(header) + table_row(1048576, 50)), "all_reduce did not print a row for every size");
  unjudged(node.check(table(node.floors, 1), "GATE_SUFFIX=_mpi"), "cannot run all_reduce_perf_mpi -b");
  unjudged(node.check(table(node.floors, 1), "GATE_TESTS=/nowhere"), "cannot run /nowhere/all_reduce_perf");
  unjudged(node.check(table(node.floors, 1), "GATE_TIMEOUT='1; touch x'"), "GATE_TIMEOUT is not a number");
}

TEST_CASE("the script runs under any POSIX shell and reads older tables", "[gate]") {
  const Node node;
  CHECK(run_shell("dash -n " + node.script).code == 0);
  CHECK(run_shell("command -v shellcheck >/dev/null || exit 0; shellcheck -s sh " + node.script).out.empty());
  CHECK(node.check(table(node.floors, 1), "", "dash").code == 0);
  CHECK(node.check(table(node.floors, 20), "", "bash --posix").code == 1);
  CHECK_THAT(read_text(node.script), !Catch::Matchers::Contains("eval"));
  // Version 2.0 has no column `root`, and `error` is no count.
  std::string old =
      "#       size         count      type   redop     time   algbw   busbw    error     time   algbw   busbw    "
      "error\n";
  for (const Json& row : node.floors.at("rows"))
    old += fmt::format("{:12} {:12} float sum {:.3e} 1.00 1.00 2e-07 {:.3e} 1.00 1.00 2e-07\n",
                       row.at("bytes").get<std::int64_t>(), 7, row.at("expected_us").get<double>(), 1e9);
  CHECK(node.check(old).code == 0);
}

TEST_CASE("for several hosts the script takes a launcher and drains the nodes it is given", "[gate]") {
  std::string two = one_node;
  two.replace(two.find("nodes: 1"), 8, "nodes: 2");
  two.replace(two.find("ranks_per_process: 8"), 20, "ranks_per_process: 1");
  const Node node(two, " --set nccl.env.NCCL_ALGO=Ring");
  node.program("srun",
               "echo \"$* $NCCL_ALGO\" >\"$0.words\"\nwhile [ \"${1#--}\" != \"$1\" ]; do shift; done\nexec \"$@\"");
  CHECK(node.check(table(node.floors, 1)).code == 0);
  CHECK(read_text(node.folder / "srun.words") ==
        "--nodes=2 --ntasks=16 --ntasks-per-node=8 all_reduce_perf -b 1048576 -e 1073741824 -f 32 -g 1 -w 5 -n 20 "
        "Ring\n");
  const Ran slow = node.check(table(node.floors, 20));
  CHECK(slow.code == 1);
  CHECK(node.drained().empty());
  CHECK_THAT(slow.err, Catch::Matchers::Contains("no node drained"));
  node.program("my launcher", "printf '<%s>' \"$@\" >\"$0.words\"\nshift\nexec \"$@\"");
  std::ofstream(node.log) << table(node.floors, 1);
  CHECK(run_shell("PATH=" + node.folder.path.string() + ":$PATH sh " + node.script + " 'my launcher' 'a b'").code == 0);
  CHECK_THAT(read_text(node.folder / "my launcher.words"), Catch::Matchers::StartsWith("<a b><all_reduce_perf><-b>"));
}

TEST_CASE("env sets the variable of nccl-tests for its command line", "[gate]") {
  const Scratch folder;
  const std::string scenario = folder / "s.yaml", env = folder / "env";
  std::ofstream(scenario) << one_node;
  const Json floors = Json::parse(output("gate " + scenario + " --json - --env " + env));
  const Ran sourced = run_shell(". " + env + "\nenv | grep -e ^GATE -e ^NCCL | sort");
  const double floor = floors.at("tests").at(0).at("floor_average_busbw_gbps");
  // It fails below 0.9 of the variable.
  CHECK(sourced.out ==
        fmt::format("GATE_1_ARGUMENTS=-b 1048576 -e 1073741824 -f 32 -g 8 -w 5 -n 20\nGATE_1_MIN_BW={0:.6g}\n"
                    "GATE_1_TEST=all_reduce_perf\nGATE_TESTS_COUNT=1\nNCCL_TESTS_MIN_BW={0:.6g}\n",
                    floor / 0.9));
  CHECK(run_shell("command -v shellcheck >/dev/null || exit 0; shellcheck -s sh " + env).out.empty());
}

TEST_CASE("a log passes, fails, or is refused", "[gate]") {
  const Node node;
  const auto gate = [&](const std::string& text, const std::string& words = "") {
    std::ofstream(node.log) << text;
    return run_fabricast("gate " + node.scenario + " --log " + node.log + " " + words);
  };
  const std::string good = table(node.floors, 1), slow = table(node.floors, 20);
  const Ran passed = gate(good, "--json -");
  INFO(passed.err);
  CHECK(passed.code == 0);
  const Json verdict = Json::parse(passed.out);
  CHECK(verdict.at("passes") == true);
  CHECK(verdict.at("rows").size() == 3);
  CHECK(verdict.at("rows").at(0).at("chance").get<double>() == Approx(0.5).margin(0.05));
  CHECK(verdict.at("rows_below_by_chance") == Approx(0.003));

  const Ran failed = gate(slow);
  CHECK(failed.code == 1);
  CHECK_THAT(failed.out, Catch::Matchers::Contains("does not pass: 3 of 3 rows are below their floors"));
  CHECK_THAT(failed.out, Catch::Matchers::Contains("on a healthy cluster 0.003 of 3 rows are below on average"));
  CHECK(gate(slow, "--probability 1e-9").code == 0);  // without measurements, even this may be healthy

  const Ran wrong = gate(table(node.floors, 1, "12"), "--json -");
  CHECK(wrong.code == 1);
  CHECK(Json::parse(wrong.out).at("wrong_results").at(0).at("results") == 24);

  std::string other = good;
  for (std::size_t at; (at = other.find("NVIDIA H100 80GB HBM3")) != std::string::npos;)
    other.replace(at, 21, "NVIDIA A100-SXM4-80GB");
  const Ran foreign = gate(other, "--json -");
  CHECK(foreign.code == 1);
  CHECK(Json::parse(foreign.out).at("passes").is_null());
  CHECK(Json::parse(foreign.out).at("contradictions").at(0).at("key") == "node.gpu");
  CHECK_THAT(gate(other).out, Catch::Matchers::Contains("no verdict: the log does not match the scenario"));
  CHECK(gate("nothing of nccl-tests\n").code == 2);
}

TEST_CASE("excerpts and CSV are judged, conditioned on a healthy log", "[gate]") {
  const Node node;
  const std::string known = node.folder / "known.csv";
  std::string csv = "collective,size,time_us\n", excerpt;
  for (const Json& row : node.floors.at("rows")) {
    const double us = row.at("expected_us").get<double>() * 1.1;
    csv += fmt::format("all_reduce,{},{:.2f}\n", row.at("bytes").get<std::int64_t>(), us);
    excerpt += table_row(row.at("bytes"), us * 1.5);
  }
  std::ofstream(known) << csv;
  std::ofstream(node.log) << excerpt;
  const std::string words = "gate " + node.scenario + " --log " + node.log;
  CHECK(run_fabricast(words).code == 0);
  CHECK(run_fabricast(words + " --measured " + known).code == 1);
  CHECK(run_fabricast("gate " + node.scenario + " --measured " + known + " --log " + known).code == 0);
  CHECK_THAT(output("gate " + node.scenario + " --measured " + known),
             Catch::Matchers::Contains("conditioned on 3 measured rows of this site"));
}

TEST_CASE("probabilities may be written in three forms, and collectives be several", "[gate]") {
  const Scratch folder;
  const std::string scenario = folder / "s.yaml";
  std::ofstream(scenario) << one_node;
  const std::string words = "gate " + scenario + " --json - --probability ";
  CHECK(output(words + "1/100") == output(words + "1%"));
  CHECK(output(words + "0.01") == output(words + "1%"));
  CHECK(output("gate " + scenario + " --json -") == output(words + "1/1000 --threads 1"));
  const Json several =
      Json::parse(output("gate " + scenario + " --json - --collectives all_gather,all_reduce,all_gather"));
  CHECK(several.at("rows").size() == 6);
  CHECK(several.at("rows").at(0).at("collective") == "all_gather");
  CHECK(several.at("tests").size() == 2);
}

}  // namespace
}  // namespace fabricast
