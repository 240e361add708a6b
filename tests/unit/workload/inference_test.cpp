// Inference: what programs hold, and bounds that their times keep.
#include "fabricast/workload/inference.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/workload/inference_spec.hpp"
#include "support/ideal_kernels.hpp"
#include "support/inference_steps.hpp"

namespace fabricast {
namespace {

Diagnostic diagnostic_of(InferenceSpec spec, int nodes = 1) {
  try {
    complete(spec, shipped_hardware(), node_of(), nodes, 1);
  } catch (const UserError& e) { return e.diagnostics().front(); }
  const std::vector<Diagnostic> faults = memory_faults(spec, shipped_hardware(), node_of(), 1);
  return faults.empty() ? Diagnostic{} : faults.front();
}
std::string fault_of(const InferenceSpec& spec, int nodes = 1) {
  const Diagnostic d = diagnostic_of(spec, nodes);
  return d.path + ": " + d.message;
}

/// s of all kernels of all layers.
double computing(const InferenceStep& step, const InferencePass& pass) {
  const PassTime t = time_pass(step, pass);
  Seconds time;
  for (int l = 0; l < step.model.layers; ++l)
    for (const LayerTime& half : {t.attention, step.model.has_experts(l) ? t.sparse : t.dense})
      time += half.gemms + half.attention + half.elementwise;
  return (time + t.vocabulary.gemms + t.vocabulary.elementwise).value;
}

}  // namespace

TEST_CASE("a decode step reduces twice per layer, and once after the embedding", "[inference]") {
  InferenceSpec spec = spec_of("llama3-70b", 4);
  spec.precision = Precision::fp8, spec.batch = 64;
  const InferenceStep step = step_of(spec);
  CHECK(step.layout.data == 2);
  CHECK(step.cache == NumberFormat::fp8);
  const Program p = inference_program(step, decode_passes(step), 1, true).program;
  CHECK(calls_of(p, CollectiveOp::all_reduce, Part::tensor) == 161);
  CHECK(calls_of(p, CollectiveOp::all_gather, Part::tensor) == 1);
  CHECK(bytes_of_collective(p, CollectiveOp::all_reduce) == 64 * 8192 * 2);
  CHECK(bytes_of_collective(p, CollectiveOp::all_gather) == 64 * 128256 * 2);
  CHECK(p.groups.front() == RankGroups{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("decoding one sequence is bound by reading the weights", "[inference]") {
  const InferenceStep step = step_of(spec_of("llama3-8b"));
  const double seconds = computing(step, decode_passes(step).front());
  const ParameterCount count = count_parameters(step.model);
  const double bound = 2.0 * static_cast<double>(count.total - count.embedding) / step.kernels.memory_rate.value;
  CHECK(seconds > bound);
  CHECK(seconds < 1.65 * bound);
}

TEST_CASE("weights with fewer bits are read faster and multiplied at the same rate", "[inference]") {
  InferenceSpec spec = spec_of("llama3-8b");
  const InferenceStep wide = step_of(spec);
  spec.weight_precision = WeightChoice::fp4;
  const InferenceStep narrow = step_of(spec);
  CHECK(narrow.cache == NumberFormat::bf16);
  InferencePass pass;
  pass.sequences = 1;
  pass.context = 1000;
  // One sequence reads all weights but the embedding; the head keeps 16 bits. Of 6.98e9 of 32 layers each is
  // read in 4 bits and its sixteenth of a scale of 8 instead of 16.
  const ComputeModel& model = wide.kernels.model;
  const double rate = wide.kernels.memory_rate.value * wide.stack.gemm.value;
  const double of_wide = 2 / model.gemm_memory.value, of_narrow = (0.5 + 1. / 16) / model.gemm_memory_4.value;
  CHECK(computing(wide, pass) - computing(narrow, pass) ==
        Approx((of_wide - of_narrow) * 6.979e9 / rate).epsilon(0.02));
  // Many rows are bound by arithmetic, which is that of bf16.
  pass = {};
  pass.prompts = 1;
  pass.queries = pass.keys = 8192;
  CHECK(computing(narrow, pass) == Approx(computing(wide, pass)).epsilon(0.01));
  CHECK(held(wide) - held(narrow) == Approx((2 - 0.5 - 1. / 16) * 6.979e9).epsilon(0.001));
  // An H100 multiplies nothing in fp4, and reads it all the same.
  spec.precision = Precision::fp4;
  CHECK_THROWS_AS(step_of(spec), UserError);
}

TEST_CASE("batch 0 is the largest that fits", "[inference]") {
  for (const InferencePhase phase : {InferencePhase::decode, InferencePhase::both}) {
    InferenceSpec spec = spec_of("llama3-70b", 4);
    spec.precision = Precision::fp8;
    spec.phase = phase;
    spec.batch = 0;
    complete(spec, shipped_hardware(), node_of(), 1, 1);
    CHECK(spec.batch > 1);
    CHECK(memory_faults(spec, shipped_hardware(), node_of(), 1).empty());
    ++spec.batch;
    // Requests that come and do not fit wait.
    CHECK(memory_faults(spec, shipped_hardware(), node_of(), 1).empty() == (phase == InferencePhase::both));
  }
  // By hand: 8B of bf16 on one H100, caches of 32 layers x 8 heads x 128 x 2 x 2 B x 1,152 tokens: 144 MiB each.
  InferenceSpec spec = spec_of("llama3-8b");
  spec.batch = 0;
  complete(spec, shipped_hardware(), node_of(), 1, 1);
  CHECK(spec.batch < (0.9 * 80 * 1024 - 2 * 8.03e9 / (1 << 20)) / 144);
  CHECK(spec.batch > (0.85 * 80 * 1024 - 2 * 8.03e9 / (1 << 20)) / 160);
  // Weights that do not fit leave no batch: what says so is the check of memory.
  spec = spec_of("llama3-405b");
  spec.batch = 0;
  complete(spec, shipped_hardware(), node_of(), 1, 1);
  CHECK(spec.batch == 1);
  CHECK_FALSE(memory_faults(spec, shipped_hardware(), node_of(), 1).empty());
}

TEST_CASE("an engine uses a fraction of all memory or of the free memory, and more if it must", "[inference]") {
  NodeSpec node = node_of();
  node.memory = Bytes{80LL << 30};
  InferenceSpec spec = spec_of("llama3-8b");
  spec.stack = "vllm-0.11";
  CHECK(static_cast<double>(memory_capacity(step_of(spec, 1, node), node).value) / gib == Approx(72));
  // 15 GiB of weights, and what one pass works in.
  spec.framework = Framework::tensorrt_llm, spec.stack = "tensorrt-llm-1.0";
  const double weights = 2 * 8.03e9 / gib;
  CHECK(static_cast<double>(memory_capacity(step_of(spec, 1, node), node).value) / gib >
        weights + 0.9 * (80 - weights));
  CHECK(static_cast<double>(memory_capacity(step_of(spec, 1, node), node).value) / gib <
        weights + 8 + 0.9 * (80 - weights - 8));
  // 65.7 GiB of weights on 70: above 0.9 of it, and there.
  spec = spec_of("llama3-70b");
  spec.precision = Precision::fp8, spec.stack = "vllm-0.11";
  node.memory = Bytes{70LL << 30};
  CHECK(needs_more_memory(step_of(spec, 1, node), node));
  CHECK(memory_capacity(step_of(spec, 1, node), node) == node.memory);
  CHECK(memory_faults(spec, shipped_hardware(), node, 1).empty());
  node.memory = Bytes{65LL << 30};
  CHECK_FALSE(memory_faults(spec, shipped_hardware(), node, 1).empty());
}

TEST_CASE("a decode step never gets shorter with batch or context", "[inference]") {
  for (const char* preset : {"llama3-8b", "mixtral-8x7b"}) {
    InferenceStep step = step_of(spec_of(preset, 2));
    double before = 0, cost_before = 1e9;
    for (const std::int64_t batch : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
      InferencePass pass;
      pass.sequences = batch, pass.context = 1000;
      const double seconds = computing(step, pass), cost = seconds / static_cast<double>(batch);
      CAPTURE(preset, batch);
      CHECK(seconds >= before);
      CHECK(cost <= cost_before);
      pass.context = 2000;
      CHECK(computing(step, pass) > seconds);
      before = seconds, cost_before = cost;
    }
  }
}

TEST_CASE("the host launches each kernel unless there is a graph", "[inference]") {
  const InferenceStep step = step_of(spec_of("llama3-8b", 2));
  const InferenceProgram graph = inference_program(step, decode_passes(step), 1, true);
  const InferenceProgram eager = inference_program(step, decode_passes(step), 1, false);
  CHECK(graph.launches.empty());
  CHECK(eager.launches.size() == 2 * 32 + 2);
  const auto host = [](const Program& p) {
    double seconds = 0;
    for (const Activity& a : p.activities) seconds += a.part == Part::host ? a.time.value : 0;
    return seconds;
  };
  const double fixed = (step.stack.step_fixed.value + step.stack.sequence_fixed.value) * 1e-6;
  CHECK(host(graph.program) == Approx(fixed));
  const PassTime t = time_pass(step, decode_passes(step).front());
  const int kernels = 32 * (t.attention.kernels + t.dense.kernels) + t.embedding.kernels + t.vocabulary.kernels;
  const double layers = 32 * step.stack.layer_launch.value;
  CHECK(host(eager.program) == Approx(fixed + (kernels * step.stack.kernel_launch.value + layers) * 1e-6));
}

TEST_CASE("the host takes time for each linear layer of a model", "[inference]") {
  // DeepSeek-V3: 61 x 4 of latent attention (down to both latent vectors, up to queries, up to keys and values,
  // output), 3 x 2 of dense feed-forward blocks, 58 x 3 of routers and shared experts. Qwen3: 94 x 2 of attention, and
  // as many routers. Its experts are one call in each layer.
  const auto [preset, linears, sparse] = GENERATE(table<std::string, int, int>(
      {{"deepseek-v3", 61 * 4 + 3 * 2 + 58 * 3, 58}, {"qwen3-235b-a22b", 94 * 3, 94}, {"llama3-8b", 32 * 4, 0}}));
  InferenceSpec spec = spec_of(preset);
  spec.launch = PassLaunch::eager;
  InferenceStep step = step_of(spec);
  step.stack.kernel_launch.value = step.stack.step_fixed.value = step.stack.sequence_fixed.value = 0;
  Seconds host;
  for (const Activity& a : inference_program(step, decode_passes(step), 1, false).program.activities)
    if (a.part == Part::host) host += a.time;
  const double us = linears * step.stack.layer_launch.value / 4 + sparse * step.stack.expert_launch.value;
  CHECK(host.value == Approx(us * 1e-6));
}

TEST_CASE("attention's output projection may have fewer bits than the rest", "[inference]") {
  InferenceSpec spec = spec_of("deepseek-v3");
  const NodeSpec node = node_of("hgx-b200");
  spec.experts.precision = GemmChoice::fp4, spec.parallel.expert = 8;
  const InferenceStep wide = step_of(spec, 1, node);
  spec.projection_precision = GemmChoice::fp4;
  const InferenceStep narrow = step_of(spec, 1, node);
  // 128 heads of 128 by 7168 in each of 61 layers: 4 bits and their scales of 8 for 16 elements, instead of 16 bits.
  CHECK(held(wide) - held(narrow) == Approx(61. * 128 * 128 * 7168 * (2 - 0.5625)));
  InferencePass pass;
  pass.prompts = 1, pass.queries = pass.keys = 8192;
  CHECK(time_pass(narrow, pass).attention.gemms < 0.8 * time_pass(wide, pass).attention.gemms);
  CHECK(time_pass(narrow, pass).sparse.gemms == time_pass(wide, pass).sparse.gemms);
  // Experts of fewer than 8 bits bring a cache of 8.
  CHECK(wide.cache == NumberFormat::fp8);
}

TEST_CASE("latent attention caches its latent vector on every rank", "[inference]") {
  InferenceSpec spec = spec_of("deepseek-v3", 8);
  spec.precision = Precision::fp8, spec.parallel.expert = 16;
  CHECK(cached_bytes(step_of(spec, 2)) == 576);
  spec.cache_precision = CacheChoice::bf16;
  CHECK(cached_bytes(step_of(spec, 2)) == 1152);
  CHECK(cached_bytes(step_of(spec_of("llama3-70b", 8))) == 2 * 128 * 2);
}

TEST_CASE("prompts share passes or are cut", "[inference]") {
  InferenceStep step = step_of(spec_of("llama3-8b"));
  step.input = 1000, step.chunk = 2500;
  const auto together = prefill_passes(step, 5);
  REQUIRE(together.size() == 3);
  CHECK(together[0].tokens() == 2000);
  CHECK(together[2].tokens() == 1000);
  step.chunk = 300;
  const auto cut = prefill_passes(step, 1);
  REQUIRE(cut.size() == 4);
  CHECK(cut[3].queries == 100);
  CHECK(cut[3].keys == 1000);
}

TEST_CASE("the tokens of a pass, cut prompts and planning ahead are those of the engine, or as stated", "[inference]") {
  const auto policy_of = [](InferenceSpec spec) {
    complete(spec, shipped_hardware(), node_of(), 1, 1);
    return prompt_policy(spec, find_serving_stack(shipped_hardware(), spec.framework, spec.stack));
  };
  InferenceSpec spec = spec_of("llama3-8b");
  spec.phase = InferencePhase::both;
  const auto engine = [&](Framework framework, const char* stack) -> InferenceSpec& {
    spec.framework = framework, spec.stack = stack;
    return spec;
  };
  // The overlapped schedulers of SGLang and of TensorRT-LLM's PyTorch backend; not of compiled engines, nor of vLLM.
  CHECK(policy_of(engine(Framework::sglang, "sglang-0.5")).ahead);
  CHECK(policy_of(engine(Framework::tensorrt_llm, "tensorrt-llm-1.0")).ahead);
  CHECK_FALSE(policy_of(engine(Framework::tensorrt_llm, "tensorrt-llm-0.15")).ahead);
  CHECK_FALSE(policy_of(engine(Framework::vllm, "vllm-0.11")).ahead);
  spec.scheduler.ahead = PlanAhead::on;
  CHECK(policy_of(spec).ahead);
  spec.scheduler.tokens = 3000;
  CHECK(step_of(spec).chunk == 3000);
  CHECK(policy_of(spec).chunked);
  // TensorRT-LLM does not cut prompts to fill a pass, unless a chunk is stated.
  CHECK(step_of(engine(Framework::tensorrt_llm, "tensorrt-llm-1.0")).chunk == 3000);
  CHECK_FALSE(policy_of(spec).chunked);
  // SGLang divides its own limit, not one that is stated, by the replicas that share experts [SGLang-chunk].
  InferenceSpec shared = spec_of("deepseek-v3", 8);
  shared.phase = InferencePhase::both, shared.framework = Framework::sglang, shared.stack = "sglang-0.5";
  shared.parallel.tensor = 8;
  CHECK(step_of(shared).chunk == 8192);
  shared.parallel.tensor = 2, shared.parallel.expert = 8;
  CHECK(step_of(shared).chunk == 2048);
  shared.scheduler.tokens = 3000;
  CHECK(step_of(shared).chunk == 3000);
  shared.scheduler.tokens = 0, shared.framework = Framework::vllm, shared.stack = "vllm-0.11";
  CHECK(step_of(shared).chunk == 8192);
  spec.chunk = 2000;
  CHECK(fault_of(spec) == "workload.scheduler.tokens: chunk also sets the tokens of a pass");
  spec.scheduler.tokens = 0;
  CHECK(step_of(spec).chunk == 2000);
  CHECK(policy_of(spec).chunked);
}

TEST_CASE("a KV-cache transfer sends the cache of a request once", "[inference]") {
  InferenceSpec spec = spec_of("llama3-70b", 8);
  spec.phase = InferencePhase::both, spec.input = 1000;
  spec.disaggregated.prefill.gpus = 8, spec.disaggregated.prefill.parallel.tensor = 4;
  complete(spec, shipped_hardware(), node_of(), 2, 1);
  CHECK(spec.disaggregated.transfer == TransferPath::rdma);
  const KvTransfer h = kv_transfer_of(prefill_step(spec, node_of(), 1, shipped_hardware()),
                                      inference_step(spec, node_of(), 1, shipped_hardware()));
  // Two keys and values of 8 heads of 128, at 16 bits.
  CHECK(h.total == Bytes{80LL * 2 * 8 * 128 * 2 * 1000});
  REQUIRE(h.pairs.size() == 2);
  CHECK(h.pairs[0] == RankGroups{{0, 8}, {1, 10}, {2, 12}, {3, 14}});
  CHECK(h.pairs[1] == RankGroups{{0, 9}, {1, 11}, {2, 13}, {3, 15}});
  CHECK(h.bytes * 8 == h.total.value);
}

TEST_CASE("the passes of a pipeline fill it", "[inference]") {
  InferenceSpec spec = spec_of("llama3-70b", 2);
  spec.parallel.pipeline = 4, spec.batch = 10;
  const InferenceStep step = step_of(spec);
  const auto passes = decode_passes(step);
  REQUIRE(passes.size() == 4);
  CHECK(passes[0].sequences == 3);
  CHECK(passes[3].sequences == 2);
  const Program p = inference_program(step, passes, 2, true).program;
  CHECK(p.actors.size() == 4);
  CHECK(calls_of(p, CollectiveOp::sendrecv, Part::pipeline) == 2 * 4 * 3);
}

TEST_CASE("halves add up to the pass, and each has its collectives", "[inference]") {
  InferencePass pass;
  pass.sequences = 5, pass.context = 100, pass.prompts = 3, pass.queries = 10, pass.keys = 10;
  const auto halves = halves_of(pass);
  REQUIRE(halves.size() == 2);
  CHECK(halves[0].sequences + halves[1].sequences == 5);
  CHECK(halves[0].prompts + halves[1].prompts == 3);
  CHECK(halves[0].context == 100);
  CHECK(halves[1].queries == 10);
  pass.sequences = 1, pass.prompts = 0;
  CHECK(halves_of(pass).size() == 1);

  InferenceSpec spec = spec_of("llama3-70b", 8);
  spec.overlap = true, spec.batch = 6;
  const InferenceStep step = step_of(spec);
  const Program p = inference_program(step, decode_passes(step), 1, true).program;
  // Twice a layer and half, and once behind the embedding.
  CHECK(calls_of(p, CollectiveOp::all_reduce, Part::tensor) == 2 * 2 * 80 + 1);
}

TEST_CASE("bad inference sections name the number to change", "[inference]") {
  InferenceSpec spec = spec_of("llama3-8b", 3);
  CHECK(fault_of(spec) == "workload.parallel: tensor 3 x pipeline 1 is 3, which does not divide 8 GPUs");
  spec.parallel.tensor = 4, spec.parallel.data = 3;
  CHECK(fault_of(spec) == "workload.parallel.data: tensor 4 x pipeline 1 x data 3 is 12, but there are 8 GPUs");
  spec.parallel.data = 0, spec.parallel.expert = 2;
  CHECK(fault_of(spec) == "workload.parallel.expert: the model has no experts");
  spec.parallel.expert = 1, spec.framework = Framework::megatron;
  CHECK(fault_of(spec) == "workload.framework: megatron is not a serving engine");
  spec.framework = Framework::vllm, spec.disaggregated.prefill.gpus = 4;
  CHECK(fault_of(spec) == "workload.disaggregated: only applies to requests from end to end, but the phase is decode");
  spec.phase = InferencePhase::both, spec.disaggregated.transfer = TransferPath::host;
  CHECK(fault_of(spec) ==
        "workload.disaggregated.transfer: NVLink connects the prefill GPUs to the decode GPUs, so transfers use it");
  spec.disaggregated = {}, spec.precision = Precision::fp8, spec.weight_precision = WeightChoice::bf16;
  CHECK(fault_of(spec) == "workload.weight_precision: weights in bf16 are wider than GEMMs in fp8");
  spec.precision = Precision::bf16, spec.weight_precision = WeightChoice::automatic;
  spec.batch = 100000, spec.phase = InferencePhase::decode;
  CHECK(fault_of(spec).starts_with("workload.model: does not fit in memory: a GPU has 72.0 GiB, but the model needs "));
  spec.batch = 1;
  spec.experts.redundant = 4;
  CHECK(fault_of(spec) == "workload.experts.redundant: the model has no experts");
  // Ways to split experts that make no replicas whole.
  InferenceSpec experts = spec_of("mixtral-8x7b", 2);
  experts.parallel.expert_tensor = 3;
  CHECK(fault_of(experts) ==
        "workload.parallel.expert_tensor: expert_tensor 3 does not divide the width 14336 of an expert");
  experts.parallel.expert_tensor = 7;
  CHECK(
      fault_of(experts) ==
      "workload.parallel.expert_tensor: expert 1 x expert_tensor 7 is neither tensor 2 nor the ranks of several whole "
      "replicas");
  experts.parallel.expert_tensor = 16;
  CHECK(fault_of(experts) ==
        "workload.parallel.expert_tensor: expert 1 x expert_tensor 16 does not divide tensor 2 x data 4");
  experts = spec_of("llama3-8b");
  experts.parallel.expert_tensor = 2;
  CHECK(fault_of(experts) == "workload.parallel.expert_tensor: the model has no experts");
  // Keys that there are.
  InferenceSpec many = spec_of("llama3-70b", 8);
  many.precision = Precision::fp8, many.batch = 4000;
  const std::string hint = diagnostic_of(many).hint;
  CHECK(hint.starts_with("it fits with batch: "));
  CHECK(hint.find("context") == std::string::npos);
  spec.batch = 1, spec.stack = "vllm-06";
  CHECK(fault_of(spec) == "workload.stack: unknown stack 'vllm-06'");
}

}  // namespace fabricast
