// Multi-token prediction in training, compared with published sizes of modules and sums done here.
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "fabricast/workload/stages.hpp"
#include "fabricast/workload/step_memory.hpp"
#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::Sets;
using test::step_world;

TrainingStep step_with(const Sets& set) { return step_of(step_world("zero3", set)); }

TEST_CASE("a module of DeepSeek-V3 is as large as published") {
  // 11.5e9 parameters that it does not share; a token meets 1.5e9, the output matrix included [DeepSeek-V3-weights].
  const Transformer m = resolve(preset_model("deepseek-v3"));
  CHECK(static_cast<double>(mtp_parameters(m)) == Approx(11.5e9).epsilon(0.01));
  const ModelFlops without = model_flops(m, 4096), with = model_flops(m, 4096, 1);
  const double vocabulary = static_cast<double>(m.vocab * m.hidden);
  const double met = (with.linear - without.linear) / 2 / 4096 + vocabulary;
  CHECK(met == Approx(1.5e9).epsilon(0.08));
  CHECK(with.vocabulary == Approx(2 * without.vocabulary));
}

TEST_CASE("FLOPs of modules are those of a layer, a GEMM and the vocabulary") {
  const Transformer m = resolve(preset_model("llama3-8b"));
  const ModelFlops without = model_flops(m, 8192), with = model_flops(m, 8192, 2);
  const double tokens = 8192, h = 4096, layer = h * (h + 2 * 1024 + h) + 3 * h * 14336;
  CHECK(with.linear - without.linear == Approx(2 * 2 * tokens * (layer + 2 * h * h)));
  CHECK(with.attention / without.attention == Approx(34 / 32.));
  CHECK(with.vocabulary == Approx(3 * 2 * tokens * h * 128256));
}

TEST_CASE("a step is longer by the time of its modules") {
  const TrainingStep plain = step_with({}), further = step_with({"workload.mtp_layers=1"});
  const double flops = model_flops_per_gpu(further, true) - model_flops_per_gpu(plain, true);
  const StepForecast before = test::step("zero3"), after = test::step("zero3", {"workload.mtp_layers=1"});
  // Neither faster than the GPU's peak nor slower than the rest of the step, which communicates more.
  CHECK(after.time.value - before.time.value > flops / before.peak);
  CHECK(after.time.value - before.time.value < flops / before.peak / before.mfu_causal());
}

/// Bytes of all calls, by kind of parallelism.
std::map<std::string, double> bytes_sent(const Program& program) {
  std::map<std::string, double> sent;
  for (const Activity& a : program.activities)
    if (a.is_collective())
      sent[program.collectives[a.collective].name] +=
          static_cast<double>(program.collectives[a.collective].bytes) * a.calls;
  return sent;
}

TEST_CASE("parameters of modules are gathered and reduced with all others") {
  const TrainingStep plain = step_with({}), further = step_with({"workload.mtp_layers=1"});
  auto before = bytes_sent(training_program(plain)), after = bytes_sent(training_program(further));
  const double more = static_cast<double>(mtp_parameters(plain.model));
  const double all = static_cast<double>(count_parameters(plain.model).total);
  for (const char* name : {"data all_gather", "data reduce_scatter"}) {
    REQUIRE(before.at(name) > 0);
    CHECK(after.at(name) / before.at(name) == Approx((all + more) / all).epsilon(0.01));
  }
}

TEST_CASE("stages share the embedding that modules look up") {
  const Sets staged{"workload.framework=megatron", "workload.parallel.pipeline=4", "workload.parallel.zero=1",
                    "workload.batch.global=256"};
  const auto sent = [&](const Sets& set) { return bytes_sent(training_program(step_with(test::both(staged, set)))); };
  CHECK_FALSE(sent({}).contains("embedding all_reduce"));
  const TrainingStep step = step_with(test::both(staged, {"workload.mtp_layers=1"}));
  const double vocabulary = static_cast<double>(step.model.vocab * step.model.hidden);
  CHECK(bytes_sent(training_program(step)).at("embedding all_reduce") ==
        Approx(vocabulary * step.stack.gradient_bytes));
  // Evenly loaded, the stage that holds modules has fewer layers of the model.
  const auto layers = [&](int modules) { return balanced_layers(step.model, 4, 1, modules); };
  const std::vector<int> even = layers(2);
  CHECK(even.back() < layers(0).back());
  CHECK(std::reduce(even.begin(), even.end()) == step.model.layers);
}

TEST_CASE("the last stage holds the modules in memory, and logits for each") {
  const Sets staged{"workload.framework=megatron", "workload.parallel.pipeline=4", "workload.parallel.zero=0",
                    "workload.batch.global=256", "workload.memory=ignore"};
  const auto use = [&](int modules, int stage) {
    const TrainingStep step = step_with(test::both(staged, {"workload.mtp_layers=" + std::to_string(modules)}));
    return memory_of(step.model, memory_question(step, 8), stage);
  };
  const Transformer m = step_with(staged).model;
  const double shared = static_cast<double>(m.vocab * m.hidden), own = static_cast<double>(mtp_parameters(m));
  CHECK(use(1, 3).optimizer - use(0, 3).optimizer == Approx(12 * (own + shared)));
  CHECK(use(2, 3).optimizer - use(1, 3).optimizer == Approx(12 * own));
  CHECK(use(2, 3).logits == Approx(3 * use(0, 3).logits));
  CHECK(use(1, 3).activations > use(0, 3).activations * (1 + 1. / (m.layers / 4)));
  CHECK(use(1, 2).total() == use(0, 2).total());
}

TEST_CASE("multi-token prediction of models with Mamba is refused with a message") {
  CHECK_THROWS_WITH(step_world("zero3", {"workload.model.preset=nemotron3-nano-30b-a3b", "workload.mtp_layers=1"}),
                    Catch::Contains("multi-token prediction of models with Mamba"));
}

}  // namespace
}  // namespace fabricast
