// What a sweep says, and what is wrong with it.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "fabricast/core/file.hpp"
#include "fabricast/planner/nccl.hpp"
#include "fabricast/scenario/study.hpp"
#include "support/scratch.hpp"

using namespace fabricast;

namespace {

constexpr const char* base = "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nworkload: {}\n";

Study study_of(const std::string& more, const std::vector<std::string>& set = {},
               const std::vector<std::string>& axes = {}) {
  const Scratch scratch;
  const std::string file = scratch / "s.yaml";
  write_file(file, base + more);
  return read_study(file, set, axes);
}

std::vector<std::string> labels(const SweepAxis& axis) {
  std::vector<std::string> all;
  for (const SweepValue& value : axis.values) all.push_back(value.label);
  return all;
}

std::string fault_of(const std::string& more, const std::vector<std::string>& axes = {}) {
  try {
    study_of(more, {}, axes);
  } catch (const UserError& e) {
    const Diagnostic& d = e.diagnostics().front();
    return (d.where.line > 0 ? fmt::format("{}:{} ", d.where.line, d.where.column) : "") + d.message;
  }
  return "none";
}

}  // namespace

TEST_CASE("axes keep the order of the file, and the last varies fastest") {
  const Study study = study_of("sweep: {fabric.kind: [rail_only, fat_tree], cluster.nodes: [4, 8, 16]}\n");
  REQUIRE(row_count(study) == 6);
  CHECK(words_of(study, 0) == std::vector<std::string>{"fabric.kind=rail_only", "cluster.nodes=4"});
  CHECK(words_of(study, 1) == std::vector<std::string>{"fabric.kind=rail_only", "cluster.nodes=8"});
  CHECK(words_of(study, 5) == std::vector<std::string>{"fabric.kind=fat_tree", "cluster.nodes=16"});
  CHECK(scenario_of(study, 4).cluster.nodes == 8);
}

TEST_CASE("ranges by factor and by step, with units") {
  CHECK(labels(study_of("sweep: {cluster.nodes: {from: 32, to: 300, factor: 2}}\n").axes[0]) ==
        std::vector<std::string>{"32", "64", "128", "256"});
  CHECK(labels(study_of("sweep: {node.nics.rate: {from: 200Gbps, to: 600Gbps, step: 200Gbps}}\n").axes[0]) ==
        std::vector<std::string>{"200Gbps", "400Gbps", "600Gbps"});
  // A tenth is no binary fraction: the tenth value is still the last.
  CHECK(labels(study_of("sweep: {x: {from: 0, to: 1, step: 0.1}}\n").axes[0]).size() == 11);
  CHECK(labels(study_of("sweep: {x: {from: 1, to: 1.331, factor: 1.1}}\n").axes[0]) ==
        std::vector<std::string>{"1", "1.1", "1.21", "1.331"});
}

TEST_CASE("a bundle sets several keys, and a value may be a map") {
  const Study study = study_of(
      "sweep:\n  nics:\n    slow: {node.nics.rate: 200Gbps, node.nics.count: 4}\n"
      "    fast: {node.nics.rate: 800Gbps}\n"
      "  workload: [{collective: all_gather, sizes: [1MiB]}]\n");
  REQUIRE(row_count(study) == 2);
  CHECK(labels(study.axes[0]) == std::vector<std::string>{"slow", "fast"});
  const Scenario slow = scenario_of(study, 0), fast = scenario_of(study, 1);
  CHECK(slow.node.spec.nics.count == 4);
  CHECK(fast.node.spec.nics.count == 8);
  CHECK(fast.workload.collective == CollectiveOp::all_gather);
  // What the file leaves out fits the row.
  CHECK(fast.fabric.basics.switch_box.rate.value == Approx(100e9));
}

TEST_CASE("an axis of --sweep replaces the axis of the file") {
  const Study study = study_of("sweep: {cluster.nodes: [4, 8]}\n", {"objective.minimize=time_us"},
                               {"cluster.nodes=[16]", "fabric.kind=[fat_tree, rail_only]"});
  REQUIRE(study.axes.size() == 2);
  CHECK(labels(study.axes[0]) == std::vector<std::string>{"16"});
  CHECK(study.objective.minimize == "time_us");
  CHECK(study.overrides.empty());
}

TEST_CASE("an option may set the whole objective, and a single condition without a list") {
  const Study study = study_of("sweep: {cluster.nodes: [4, 8]}\nobjective: {maximize: mfu}\n",
                               {"objective={minimize: switches, keep: \"time_us <= 2 * best\"}"}, {});
  CHECK(study.overrides.empty());
  CHECK(study.objective.minimize == "switches");
  CHECK(study.objective.maximize.empty());
  CHECK(study.objective.keep == std::vector<std::string>{"time_us <= 2 * best"});
  const Study keep = study_of("sweep: {cluster.nodes: [4, 8]}\n", {"objective.keep=gpus < 100"}, {});
  CHECK(keep.objective.keep == std::vector<std::string>{"gpus < 100"});
}

TEST_CASE("a fault of a word that a bundle adds is in the file") {
  const Study study = study_of("sweep: {fabric: {ft11: {kind: fat_tree}}}\n", {}, {});
  try {
    (void)scenario_of(study, 0);
    FAIL("the key is unknown");
  } catch (const UserError& e) {
    Diagnostic d = e.diagnostics().front();
    study.locate_in_row(d, 0);
    CHECK(d.where.file == study.file);
    CHECK(d.where.line == 5);
    CHECK(d.where.column == 25);
    CHECK(d.hint == "a bundle lists whole paths: write fabric.kind");
  }
}

TEST_CASE("long lists and many ranges are read quickly, or refused") {
  std::string list = "sweep: {node.gpus: [";
  for (int i = 0; i < 100'000; ++i) list += fmt::format("{}, ", i);
  CHECK(study_of(list + "0x]}\n").axes[0].values.size() == 100'001);
  // A million values each.
  std::string ranges = "sweep:\n";
  for (int i = 0; i < 100; ++i) ranges += fmt::format("  a{}: {{from: 1, to: 999999, step: 1}}\n", i);
  CHECK(fault_of(ranges).find("more than 1000000 values") != std::string::npos);
}

TEST_CASE("errors of a sweep are reported with their position") {
  CHECK(fault_of("sweep: [a]\n") == "5:8 must be a map");
  CHECK(fault_of("sweep: {a: 3}\n") == "5:9 must be a list, a range or a bundle");
  CHECK(fault_of("sweep: {a: []}\n") == "5:9 has no values");
  CHECK(fault_of("sweep: {a: [1, 1]}\n") == "5:16 '1' is listed twice");
  CHECK(fault_of("sweep: {a: {from: 1, to: 8}}\n").ends_with("a range needs from, to, and either factor or step"));
  CHECK(fault_of("sweep: {a: {from: 1, to: 8, factor: 2, by: 3}}\n").ends_with("unknown key 'by' in a range"));
  CHECK(fault_of("sweep: {a: {from: 1, to: 8, factor: 1}}\n").find("above 1") != std::string::npos);
  CHECK(fault_of("sweep: {a: {from: 9, to: 8, factor: 2}}\n").ends_with("`from` is more than `to`"));
  CHECK(fault_of("sweep: {a: {from: 1m, to: 8km, step: 1m}}\n").ends_with("the range mixes units"));
  CHECK(fault_of("sweep: {a: {from: x, to: 8, step: 1}}\n").ends_with("`from` is not a number"));
  CHECK(fault_of("sweep: {a: {b: 3}}\n").find("neither a key of a range") != std::string::npos);
  CHECK(fault_of("sweep: {a: {from: 1, to: 9e9, step: 1}}\n").find("more than 1000000") != std::string::npos);
  CHECK(fault_of("objective: {minimise: cost}\n") == "5:13 unknown key");
  CHECK(fault_of("objective: {minimize: cost, maximize: mfu}\n").ends_with("cannot be combined with minimize"));
  CHECK(fault_of("", {"a"}).ends_with("'--sweep a' has no values"));
}

TEST_CASE("GPUs with different default versions of NCCL are compared with the newest of these versions", "[plan]") {
  const Study gpus = study_of("sweep: {node.profile: [dgx-v100, dgx-h100], cluster.nodes: [2, 4]}\n");
  CHECK(gpus.common_version == to_text(usual_version(90)));
  for (std::size_t row = 0; row < row_count(gpus); ++row) {
    const Scenario s = scenario_of(gpus, row);
    CHECK(s.nccl.version == gpus.common_version);
    CHECK_FALSE(s.nccl.version_given);
  }
  CHECK(study_of("sweep: {node.profile: [dgx-h100, hgx-h100]}\n").common_version.empty());
  CHECK(study_of("sweep: {node.profile: [dgx-v100, dgx-h100]}\n", {"nccl.version=\"2.21\""}).common_version.empty());
  CHECK(study_of("sweep: {cluster.nodes: [2, 4]}\n").common_version.empty());
}
