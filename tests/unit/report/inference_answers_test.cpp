// The answers of `explain` for inference steps: what limits them, and what would help.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fabricast/report/inference_advice.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using nlohmann::json;

struct Explained {
  World world;
  InferenceExplanation found;
  const InferenceWhatIf* with(const std::string& word) const {
    for (const InferenceWhatIf& w : found.what_ifs)
      if (std::find(w.set.begin(), w.set.end(), word) != w.set.end()) return &w;
    return nullptr;
  }
};

Explained explain(const std::string& machine, const std::string& workload) {
  Explained e;
  e.world = test::world_of(machine + "workload: {kind: inference, " + workload + "}\n");
  e.found.forecast = run_inference(e.world);
  e.found.what_ifs = what_would_help_inference(e.found.forecast);
  return e;
}

const std::string one_node = "node: {profile: hgx-h100}\ncluster: {nodes: 1}\n";
const std::string without_gdr = "node: {profile: dgx-a100, gdr: false}\ncluster: {nodes: 2}\n";
// A small model computes its prompts faster than hosts transfer their KV cache, which has keys and values of all heads.
const std::string apart =
    "model: {preset: llama2-7b, ffn: 1024}, phase: both, batch: 16, input: 2048, output: 8, disaggregated: {prefill: "
    "{gpus: 8}}";

TEST_CASE("a what-if of a decode step equals a run of the changed scenario", "[inference]") {
  const Explained e = explain(one_node, "model: {preset: llama3-8b}, batch: 8, parallel: {tensor: 4}, launch: eager");
  const InferenceForecast& f = e.found.forecast;
  REQUIRE(e.found.what_ifs.size() >= 3);
  const ScenarioChanges changes(e.world.scenario());
  for (std::size_t i = 0; i < e.found.what_ifs.size(); ++i) {
    const InferenceWhatIf& w = e.found.what_ifs[i];
    CAPTURE(w.what);
    if (i > 0) CHECK(w.gain <= e.found.what_ifs[i - 1].gain);
    const auto other = build_world(changes.with(w.set));
    const InferenceForecast again = run_inference(other);
    CHECK(again.step.time == w.step);
    CHECK(w.gain == Approx(1 - again.step.time.value / f.step.time.value));
    CHECK(w.more_tokens == Approx(tokens_per_gpu(again) / tokens_per_gpu(f) - 1));
    CHECK(std::max(w.gain, w.more_tokens) >= least_inference_gain);
    CHECK(whole_bytes(again.memory.total()) == w.memory);
  }
  const InferenceWhatIf* graph = e.with("workload.launch=graph");
  REQUIRE(graph);
  CHECK(graph->gain > 0.1);
  // With twice the batch, the step is longer and the throughput higher.
  const InferenceWhatIf* batch = e.with("workload.batch=16");
  REQUIRE(batch);
  CHECK(batch->gain < 0);
  CHECK(batch->more_tokens > 0.5);
  const std::string text = explain_inference_text(e.found);
  CHECK(text.find("what would shorten the step") < text.find("higher throughput, but a longer step"));
  CHECK(text.find("higher throughput, but a longer step") < text.find("--set 'workload.batch=16'"));
  RunOptions one;
  one.threads = 1;
  CHECK(explain_inference_json({f, what_would_help_inference(f, one)}) == explain_inference_json(e.found));
}

TEST_CASE("a change that does nothing to an inference step gains nothing", "[inference]") {
  const auto world =
      test::world_of(one_node + "workload: {kind: inference, model: {preset: llama3-8b}, launch: graph}\n");
  const InferenceForecast f = run_inference(world);
  const auto again = build_world(ScenarioChanges(world.scenario()).with({"name=other"}));
  CHECK(run_inference(again).step.time.value == f.step.time.value);
  CHECK(run_inference(again, {}, false).step.time.value == f.step.time.value);
  // These GPUs do not communicate: no change of the network is reported, nor one that the scenario already has.
  for (const InferenceWhatIf& w : what_would_help_inference(f))
    for (const std::string& word : w.set) {
      CHECK(word.find("nccl.") == std::string::npos);
      CHECK(word != "workload.launch=graph");
    }
}

TEST_CASE("a KV-cache transfer through host memory limits requests, and GPUDirect RDMA is found", "[inference]") {
  const Explained e = explain(without_gdr, apart);
  const DisaggregatedForecast& d = *e.found.forecast.disaggregated;
  CHECK(limit_of(e.world, d) == ServingLimit::kv_transfer);
  CHECK(d.prefill_rate == Approx(8 / d.transfer.value));
  CHECK(&binding_passes(e.found.forecast) == &e.found.forecast.disaggregated->prompt);
  const InferenceWhatIf* direct = e.with("workload.disaggregated.transfer=rdma");
  REQUIRE(direct);
  CHECK(direct->set.back() == "node.gdr=true");
  CHECK(direct->gain > 0.02);
  const auto other = build_world(ScenarioChanges(e.world.scenario()).with(direct->set));
  const InferenceForecast again = run_inference(other);
  CHECK(tokens_per_gpu(again) == direct->tokens);
  CHECK(direct->gain == Approx(again.tokens_per_second / e.found.forecast.tokens_per_second - 1));
  const json j = json::parse(explain_inference_json(e.found));
  CHECK(j.at("goal") == "tokens");
  CHECK(j.at("binding").at("limit") == "kv_transfer");
  // With that change, it is not proposed again.
  for (const Alternatives& list : inference_trials(again))
    for (const Trial& trial : list) CHECK(trial.what != "KV-cache transfer by rdma");
}

TEST_CASE("changes that do not fit in memory next to the weights are reported separately", "[inference]") {
  const Explained e = explain(one_node, "model: {preset: llama3-70b}, batch: 150, input: 2048, parallel: {tensor: 4}");
  const InferenceWhatIf* batch = e.with("workload.batch=300");
  REQUIRE(batch);
  CHECK_FALSE(batch->fits);
  CHECK(batch->memory > e.found.forecast.capacity);
  for (const InferenceWhatIf& w : e.found.what_ifs) CHECK(w.fits == (w.memory <= e.found.forecast.capacity));
  const std::string text = explain_inference_text(e.found);
  CHECK(text.find("what would help, but does not fit in 72.0 GiB") < text.find("--set 'workload.batch=300'"));
}

TEST_CASE("a pass lasts at least as long as the copies of its weights from host memory", "[inference]") {
  const auto seconds = [](const std::string& settings) {
    const auto world = test::world_of(
        "node: {profile: hgx-h100, gpus: 1}\ncluster: {nodes: 1}\nworkload: {kind: inference, model: {preset: "
        "llama3-8b}, " +
        settings + "}\n");
    return run_inference(world).step.time.value;
  };
  // Half of 6.979e9 weights of 2 B, over PCIe 5.
  const double copied = 6.979e9 / shipped_hardware().links.find("pcie5")->second.payload_rate().value;
  const double decoded = seconds("offload_weights: 50%");
  CHECK(decoded > copied);
  // Layers are computed during the copies; the vocabulary and the host are not part of them.
  CHECK(decoded < copied + 0.3 * seconds("offload_weights: 0"));
  // Computing many prompts takes longer.
  const std::string prompts = "phase: prefill, batch: 32, input: 8192, ";
  CHECK(seconds(prompts + "offload_weights: 50%") == Approx(seconds(prompts + "offload_weights: 0")));
}

TEST_CASE("the limits are the largest component, and the collective with the longest exposed time", "[inference]") {
  const auto world = test::world_of(
      one_node + "workload: {kind: inference, model: {preset: llama3-8b}, all_reduce: nccl, parallel: {tensor: 8}}\n");
  const InferenceForecast f = run_inference(world);
  const InferenceBinding b = binding_of(f.step);
  REQUIRE(b.collective >= 0);
  const CollectiveUse& use = f.step.collectives[static_cast<std::size_t>(b.collective)];
  CHECK(use.kind.part == Part::tensor);
  for (const CollectiveUse& other : f.step.collectives) CHECK(other.time.value <= use.time.value);
  // One sequence over eight GPUs: the latency of NCCL dominates.
  CHECK(b.part == "tensor");
  CHECK(b.time == b.exposed);
  CHECK(b.time.value < f.step.time.value);
  const auto alone = test::world_of(
      "node: {profile: hgx-h100, gpus: 1}\ncluster: {nodes: 1}\nworkload: {kind: inference, model: {preset: "
      "llama3-8b}}\n");
  const InferenceBinding gemms = binding_of(run_inference(alone).step);
  CHECK(gemms.collective == -1);
  CHECK(gemms.part == "gemm");
}

TEST_CASE("the engine's own all-reduces are named where they are the longest exposed communication", "[inference]") {
  // Llama 3 70B: two all-reduces for each of 80 layers, and one for the embedding. A stage of two has half of the layers
  // and works on two passes in a step.
  const auto forecast = [](const std::string& more) {
    return run_inference(test::world_of(
        one_node + "workload: {kind: inference, model: {preset: llama3-70b}, batch: 16, " + more + "}\n"));
  };
  const std::vector<std::pair<std::string, double>> cases{{"parallel: {tensor: 8}", 161},
                                                          {"parallel: {tensor: 4, pipeline: 2}", 162}};
  for (const auto& [parallel, calls] : cases) {
    const InferenceForecast f = forecast(parallel);
    INFO(parallel);
    CHECK(f.step.own.calls == calls);
    CHECK(f.step.own.time < f.step.time);
    const InferenceBinding b = binding_of(f.step);
    CHECK(b.own);
    CHECK(b.collective == -1);
    const json j = json::parse(explain_inference_json({f, {}}));
    CHECK(j.at("binding").at("exposed_most").at("part") == "tensor");
    CHECK(j.at("own_all_reduces").at("calls").get<double>() == Approx(f.step.own.calls));
    CHECK(explain_inference_text({f, {}}).find("all-reduces by the engine's kernel") != std::string::npos);
  }
  const InferenceForecast nccl = forecast("all_reduce: nccl, parallel: {tensor: 8}");
  CHECK(nccl.step.own.calls == 0);
  CHECK_FALSE(binding_of(nccl.step).own);
}

TEST_CASE("a load beyond what is served makes the queue grow, and a small one does not", "[inference]") {
  const auto at = [](const std::string& rate) {
    return run_inference(
        test::world_of(one_node +
                       "workload: {kind: inference, model: {preset: llama3-8b}, phase: both, batch: 8, "
                       "input: 512, output: 32, load: {arrivals: poisson, rate: " +
                       rate + ", requests: 200}}\n"));
  };
  const InferenceForecast idle = at("1"), overloaded = at("10000");
  REQUIRE(idle.shared.has_value());
  REQUIRE(overloaded.shared.has_value());
  CHECK_FALSE(idle.shared->queue_grows);
  CHECK(overloaded.shared->queue_grows);
  CHECK(overloaded.shared->requests_per_second < 10000);
  CHECK(inference_text(idle).find("overloaded") == std::string::npos);
  CHECK(inference_text(overloaded).find("overloaded") != std::string::npos);
}

TEST_CASE("requests are limited by what they wait for most: prompts or decoding", "[inference]") {
  const auto of = [](const std::string& tokens) {
    const auto world = test::world_of(one_node +
                                      "workload: {kind: inference, model: {preset: llama3-8b}, phase: both, "
                                      "batch: 8, parallel: {tensor: 4}, " +
                                      tokens + "}\n");
    const InferenceForecast f = run_inference(world);
    const json j = json::parse(explain_inference_json({f, {}}));
    const TimedPasses& passes = binding_passes(f);
    CHECK(j.at("binding").at("seconds").get<double>() < passes.time.value);
    CHECK(j.at("binding").at("seconds").get<double>() == Approx(binding_of(passes).time.value));
    CHECK(passes.time == (j.at("binding").at("of") == "prompt" ? f.prefill : f.step.time));
    return j.at("binding").at("of").get<std::string>();
  };
  CHECK(of("input: 32768, output: 8") == "prompt");
  CHECK(of("input: 128, output: 1024") == "step");
  // With speculation a step yields several tokens, and a token takes less than a step.
  const auto world = test::world_of(one_node +
                                    "workload: {kind: inference, model: {preset: llama3-8b}, phase: both, batch: 8, "
                                    "speculation: {tokens: 4, acceptance: 0.9}}\n");
  const InferenceForecast f = run_inference(world);
  CHECK(f.step.time / decoding_per_token(f) == Approx((1 - std::pow(0.9, 5)) / 0.1));
}

}  // namespace
}  // namespace fabricast
