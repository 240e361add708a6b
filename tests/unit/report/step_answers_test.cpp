// Answers about a step besides its time: memory, what would help, the best split, the trace.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fabricast/report/plan.hpp"
#include "fabricast/report/step_advice.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using nlohmann::json;

constexpr double gib = 1024.0 * 1024 * 1024;

World step_world(const std::string& workload) {
  return test::world_of("node: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: {kind: training_step, " + workload +
                        "}\n");
}
const std::string small = "model: {preset: llama2-13b}, batch: {global: 64}, parallel: {tensor: 2, pipeline: 4}";

TEST_CASE("an error about memory says which number to change", "[step]") {
  const std::string large = "model: {preset: llama3-70b}, batch: {global: 64}, parallel: {tensor: 4, pipeline: 2}";
  const auto world = step_world(large);
  try {
    require_memory(world);
    FAIL("it fits");
  } catch (const UserError& e) {
    REQUIRE(e.diagnostics().size() == 1);
    CHECK(e.diagnostics()[0].path == "workload.model");
    CHECK(e.diagnostics()[0].message.find("does not fit in memory: a GPU has 80.0 GiB") == 0);
    CHECK(e.diagnostics()[0].hint.find("parallel.") != std::string::npos);
    CHECK(e.diagnostics()[0].hint.find("memory: ignore") != std::string::npos);
  }
  const auto ignored = step_world(large + ", memory: ignore");
  CHECK_NOTHROW(require_memory(ignored));
  CHECK(run_step(ignored).memory.share() > 1);
  const auto fits = step_world(small);
  CHECK_NOTHROW(require_memory(fits));
}

TEST_CASE("the forecast has the memory of each stage by component", "[step]") {
  const auto world = step_world(small);
  const StepForecast f = run_step(world);
  REQUIRE(f.memory.stages.size() == 4);
  CHECK(f.memory.capacity == Bytes{80LL << 30});
  double most = 0;
  for (const MemoryUse& use : f.memory.stages) {
    double sum = 0;
    for (const auto& [name, bytes] : use.by_part()) sum += bytes;
    CHECK(sum == Approx(use.total()));
    most = std::max(most, use.total());
  }
  CHECK(f.memory.peak().total() == most);
  const json j = json::parse(step_json(f)).at("memory");
  CHECK(j.at("peak_gib").get<double>() == Approx(most / gib));
  CHECK(j.at("stages").size() == 4);
  CHECK(step_text(f).find("# memory per GPU, of 80.0 GiB") != std::string::npos);
}

TEST_CASE("a step lists the faults that it runs with", "[step]") {
  const auto text = [](const std::string& faults) {
    return step_text(run_step(test::world_of(
        "node: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: {kind: training_step, " + small + "}\n" + faults)));
  };
  CHECK(text("").find("# faults:") == std::string::npos);
  CHECK(text("faults: [{host: 3, clock: 80%}, {nic: node1.nic0, rate: 10%}]\n")
            .find("# faults: node3 at 80 % of the clock, node1.nic0 at 10 % of its rate\n") != std::string::npos);
}

TEST_CASE("a what-if equals a run of the changed scenario", "[step]") {
  const auto world = step_world(small + ", overlap: {data: false}");
  const StepForecast f = run_step(world);
  const std::vector<StepWhatIf> found = what_would_help_step(f);
  REQUIRE(found.size() > 2);
  const ScenarioChanges changes(world.scenario());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const StepWhatIf& w = found[i];
    CAPTURE(w.what);
    if (i > 0) CHECK(w.gain <= found[i - 1].gain);
    CHECK(w.gain == Approx(1 - w.time.value / f.time.value));
    const auto other = build_world(changes.with(w.set));
    const StepForecast again = run_step(other);
    CHECK(again.time.value == w.time.value);
    CHECK((again.memory.share() <= 1) == w.fits);
  }
  const std::vector<Alternatives> tried = step_trials(f);
  const auto overlap = std::find_if(tried.begin(), tried.end(), [](const Alternatives& list) {
    return list.front().what == "overlap data parallelism";
  });
  REQUIRE(overlap != tried.end());
  CHECK(overlap->front().set == std::vector<std::string>{"workload.overlap.data=true"});
  RunOptions one;
  one.threads = 1;
  const std::vector<StepWhatIf> alone = what_would_help_step(f, one);
  CHECK(explain_step_json({f, alone}) == explain_step_json({f, found}));
}

TEST_CASE("changes that do not fit are reported separately, and less recomputation is tried", "[step]") {
  const auto world = step_world(
      "model: {preset: llama2-13b}, batch: {global: 64}, parallel: {tensor: 1, pipeline: 2}, recompute: full, memory: "
      "ignore");
  const StepForecast f = run_step(world);
  bool large = false;
  const std::vector<StepWhatIf> found = what_would_help_step(f);
  for (const StepWhatIf& w : found) {
    if (w.what.find("recompute") == 0) CHECK(w.set.front() != "workload.recompute=full");
    CHECK(w.fits == (w.memory <= f.memory.capacity));
    large = large || !w.fits;
  }
  CHECK(large);
  CHECK(explain_step_text({f, found}).find("what would help, but does not fit in 80.0 GiB") != std::string::npos);
}

TEST_CASE("another kind of recomputation replaces a list of modules", "[step]") {
  const auto world = step_world(small + ", recompute_modules: [layernorm]");
  bool none = false;
  for (const StepWhatIf& w : what_would_help_step(run_step(world))) {
    if (w.what != "recompute none") continue;
    none = true;
    CHECK(w.set == std::vector<std::string>{"workload.recompute=none", "workload.recompute_modules=[]"});
    CHECK(w.time.value == Approx(run_step(step_world(small)).time.value));
  }
  CHECK(none);
}

TEST_CASE("for a step that does not fit, changes that make it fit are reported at any cost", "[step]") {
  const auto world = step_world(
      "model: {preset: llama2-13b}, batch: {global: 64, micro: 4}, parallel: {tensor: 2, pipeline: 2}, memory: ignore");
  const StepForecast f = run_step(world);
  REQUIRE(f.memory.share() > 1);
  const std::vector<StepWhatIf> found = what_would_help_step(f);
  const auto slower = [](const StepWhatIf& w) { return w.fits && w.gain < 0; };
  CHECK(std::any_of(found.begin(), found.end(), slower));
  for (const StepWhatIf& w : found) CHECK((w.gain >= least_step_gain || w.fits));
  const std::string text = explain_step_text({f, found});
  CHECK(text.find("what would make it fit in 80.0 GiB") != std::string::npos);
  CHECK(text.find("what would make it fit") > text.find("# what limits the step"));
}

TEST_CASE("only settings that the framework has are proposed, and only words that change something", "[step]") {
  for (const std::string framework : {"megatron", "fsdp"}) {
    const auto world = step_world("model: {preset: llama2-7b}, framework: " + framework + ", batch: {global: 64}");
    std::vector<std::string> zero;
    for (const Alternatives& list : step_trials(run_step(world)))
      for (const Trial& trial : list)
        for (const std::string& word : trial.set) {
          if (word.find("parallel.zero=") != std::string::npos) zero.push_back(word.substr(word.find('=') + 1));
          for (const char* now : {"tensor=1", "context=1", "pipeline=1", "data=32"})
            CHECK(word != std::string("workload.parallel.") + now);
        }
    CHECK(zero == std::vector<std::string>{framework == "fsdp" ? "2" : "0"});
  }
}

TEST_CASE("a change that does nothing gains nothing", "[step]") {
  // Several samples of the hash: before and after are compared over the same ones.
  const auto world = test::world_of(
      "node: {profile: hgx-h100-roce}\ncluster: {nodes: 8}\nfabric: {kind: fat_tree, switch: {ports: 16}}\n"
      "routing: {kind: ecmp, seed: 3, seeds: 4}\nworkload: {kind: training_step, model: {preset: llama2-7b}, "
      "framework: fsdp, batch: {global: 64}}\n");
  const StepForecast f = run_step(world);
  const auto again = build_world(ScenarioChanges(world.scenario()).with({"name=other"}));
  CHECK(run_step(again).time.value == f.time.value);
  for (const StepWhatIf& w : what_would_help_step(f)) {
    CAPTURE(w.what);
    CHECK(w.gain < 1);
    CHECK(w.time.value > 0);
    CHECK(f.time.value - w.time.value == Approx(w.gain * f.time.value));
  }
}

TEST_CASE("the stage with the vocabulary limits the step", "[step]") {
  // A vocabulary as wide as many layers, on the last of two stages.
  const auto world =
      step_world("model: {preset: llama3-8b, layers: 4, vocab: 512000}, batch: {global: 512}, parallel: {pipeline: 2}");
  const StepForecast f = run_step(world);
  const StepBinding b = binding_of(f);
  CHECK(b.stage == 1);
  CHECK(b.part == Part::vocabulary);
  constexpr auto vocabulary = static_cast<std::size_t>(Part::vocabulary);
  CHECK(b.more.value == Approx((f.stages[1].busy[vocabulary] - f.stages[0].busy[vocabulary]).value));
  CHECK(b.others > b.waits);
}

TEST_CASE("the words of a split make that split, and no other one is tried", "[plan]") {
  for (const std::string& workload :
       {small, small + ", recompute_modules: [layernorm, core_attn]",
        std::string("model: {preset: mixtral-8x7b}, batch: {global: 64}, parallel: {tensor: 2, expert: 4, "
                    "pipeline: 2, interleave: 2}")}) {
    const auto world = step_world(workload);
    const TrainingStep base = step_of(world);
    const SplitSearch search = search_splits(world);
    REQUIRE(search.candidates.size() > 20);
    CHECK(search.considered >= search.not_divided + search.not_fitting + search.candidates.size());
    const ScenarioChanges changes(world.scenario());
    bool own = false;
    for (std::size_t i = 0; i < search.candidates.size(); i += 7) {
      const SplitCandidate& c = search.candidates[i];
      const Scenario made = changes.with(words_of(c.split, base));
      const TrainingStep step = training_step(made.workload.training, made.node.spec, made.hardware, 8);
      CHECK(split_of(step) == c.split);
      CHECK(step.layout.ranks() == 32);
      CHECK(step.global_batch == 64);
      CHECK(memory_of_step(step, 8).peak().total() == Approx(fractional(c.memory)));
      CHECK(c.memory <= Bytes{80LL << 30});
    }
    for (const SplitCandidate& c : search.candidates) own = own || c.split == split_of(base);
    CHECK(own == (memory_of_step(base, 8).share() <= 1));
  }
}

TEST_CASE("a plan ranks forecasts as `run` gives them, whatever the number of threads", "[plan]") {
  const auto world = step_world(small);
  RunOptions one, three;
  one.threads = 1, three.threads = 3;
  const PlanResult result = plan_parallel(world, 12, three);
  CHECK(plan_json(result, 0) == plan_json(plan_parallel(world, 12, one), 0));
  REQUIRE(result.rows.size() == 12);
  CHECK(result.considered == result.not_divided + result.not_fitting + result.left_out + 12);
  CHECK(std::count_if(result.rows.begin(), result.rows.end(), [](const PlanRow& r) { return r.given; }) == 1);
  const ScenarioChanges changes(world.scenario());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const PlanRow& row = result.rows[i];
    if (i > 0) CHECK(row.time.value >= result.rows[i - 1].time.value);
    const auto other = build_world(changes.with(row.set));
    CHECK(run_step(other).time.value == row.time.value);
  }
  // The estimate that selects splits is accurate enough for that.
  const PlanResult all = plan_parallel(world, 120);
  CHECK(result.rows.front().time.value < 1.1 * all.rows.front().time.value);
  for (const PlanRow& row : all.rows)
    if (row.time.value < 1.3 * all.rows.front().time.value)
      CHECK(row.candidate.estimate.value == Approx(row.time.value).epsilon(0.35));
}

/// Slices of each thread, in ascending order of time.
std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices_of(const json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X")
      slices[{e.at("pid"), e.at("tid")}].push_back({e.at("ts"), e.at("ts").get<double>() + e.at("dur").get<double>()});
  for (auto& [thread, list] : slices) std::sort(list.begin(), list.end());
  return slices;
}

TEST_CASE("a trace holds each activity once on each of its streams, and none overlap", "[trace]") {
  const auto world = step_world(small);
  const StepForecast f = run_step(world);
  const StepTrace trace = step_trace(f);
  CHECK(trace.left_out.empty());
  const json j = json::parse(trace.json);
  std::size_t slices = 0, places = 0;
  for (std::size_t i = 0; i < f.program.activities.size(); ++i) places += f.program.places_of(i).size();
  for (const auto& [thread, list] : slices_of(j)) {
    slices += list.size();
    for (std::size_t i = 1; i < list.size(); ++i) REQUIRE(list[i].first >= list[i - 1].second - 1e-3);
    CHECK(list.back().second <= f.time.value * 1e6 * (1 + 1e-9));
  }
  CHECK(slices == places);
  std::map<int, std::vector<const json*>> arrows;
  std::set<std::string> names, counters;
  for (const json& e : j.at("traceEvents")) {
    if (e.at("ph") == "s" || e.at("ph") == "f") arrows[e.at("id")].push_back(&e);
    if (e.at("ph") == "M" && e.at("name") == "process_name") names.insert(e.at("args").at("name"));
    if (e.at("ph") == "C") counters.insert(e.at("name"));
    if (e.at("ph") == "X" && e.at("args").contains("algorithm")) {
      CHECK(e.at("args").at("exposed_us").get<double>() <= e.at("dur").get<double>() * (1 + 1e-9) + 1e-6);
      CHECK(e.at("args").at("busbw_gbps").get<double>() > 0);
      CHECK(!e.at("args").at("bottleneck").get<std::string>().empty());
    }
  }
  REQUIRE(!arrows.empty());
  for (const auto& [id, pair] : arrows) {
    REQUIRE(pair.size() == 2);
    CHECK(pair[0]->at("pid") != pair[1]->at("pid"));
    CHECK(pair[0]->at("ts") <= pair[1]->at("ts"));
  }
  for (const char* name : {"stage 0", "stage 3"}) CHECK(names.contains(name));
  for (const char* name : {"tensor GB/s", "pipeline GB/s", "data GB/s"}) CHECK(counters.contains(name));
}

TEST_CASE("counters hold the bytes of collectives", "[trace]") {
  const auto world = step_world("model: {preset: llama2-7b}, framework: fsdp, batch: {global: 64, micro: 2}");
  const StepForecast f = run_step(world);
  const json j = json::parse(step_trace(f).json);
  // Bytes: the area below the counter, compared with calls x bytes x ranks.
  double area = 0, rate = 0, since = 0, wanted = 0;
  for (const json& e : j.at("traceEvents"))
    if (e.at("ph") == "C" && e.at("name") == "data GB/s") {
      const double now = e.at("ts").get<double>() * 1e-6;
      area += rate * (now - since), since = now, rate = e.at("args").at("GB/s");
    }
  for (const CollectiveUse& use : f.collectives)
    wanted += use.calls * static_cast<double>(use.kind.bytes) * bus_factor(use.kind.op, 32) * 32 * 1e-9;
  CHECK(rate == 0);
  CHECK(area == Approx(wanted).epsilon(1e-6));
}

TEST_CASE("the micro-batches in the middle of a long step are left out", "[trace]") {
  const auto world = step_world(small);
  const StepForecast f = run_step(world);
  const StepTrace all = step_trace(f), some = step_trace(f, 2000);
  CHECK(some.left_out.find("micro-batches ") == 0);
  CHECK(some.json.size() < all.json.size());
  std::set<int> kept;
  std::size_t slices = 0;
  const json j = json::parse(some.json);
  for (const json& e : j.at("traceEvents"))
    if (e.at("ph") == "X") {
      ++slices;
      if (e.at("args").contains("micro_batch")) kept.insert(e.at("args").at("micro_batch").get<int>());
    }
  CHECK(slices <= 2000);
  CHECK(kept.contains(0));
  CHECK(kept.contains(step_of(world).micro_batches() - 1));
  CHECK(j.at("otherData").at("left_out") == some.left_out);
}

}  // namespace
}  // namespace fabricast
