// Experts in inference: what passes read, move and send for them.
#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "support/inference_steps.hpp"

namespace fabricast {

TEST_CASE("few tokens read few experts", "[inference]") {
  InferenceSpec spec = spec_of("deepseek-v3");
  spec.precision = Precision::fp8, spec.parallel.expert = 32;
  const InferenceStep step = step_of(spec, 4);
  InferencePass pass;
  pass.sequences = 1, pass.context = 100;
  const Seconds one = time_pass(step, pass).sparse.gemms;
  pass.sequences = 64;
  CHECK(time_pass(step, pass).sparse.gemms > 1.2 * one);
  const Program p = inference_program(step, {pass}, 1, true).program;
  CHECK(calls_of(p, CollectiveOp::alltoall, Part::expert) == 2 * 58);
  // To the experts in 8 bits: 8 copies of 64 tokens of 7168.
  CHECK(bytes_of_collective(p, CollectiveOp::alltoall) == 64 * 8 * 7168);
  CHECK(calls_of(p, CollectiveOp::all_reduce, Part::tensor) == 0);
}

TEST_CASE("many tokens go once to each rank that has one of their experts", "[inference]") {
  InferenceSpec spec = spec_of("deepseek-v3");
  spec.precision = Precision::fp8, spec.parallel.expert = 2;
  InferenceStep step = step_of(spec);
  // Of the six pairs of four experts, one lies on the other rank of two: a token reaches 2 (1 - 1/6) ranks on average.
  step.model.experts = 4, step.model.active_experts = 2, step.model.expert_groups = step.model.active_groups = 0;
  InferencePass prompts;
  prompts.prompts = 1, prompts.queries = prompts.keys = 12;
  const auto dispatched = [&](const InferencePass& pass) {
    return bytes_of_collective(inference_program(step, {pass}, 1, true).program, CollectiveOp::alltoall);
  };
  CHECK(dispatched(prompts) == 20 * 7168);
  // One copy per expert in decode passes, unless the engine merges them, too.
  InferencePass decode;
  decode.sequences = 12, decode.context = 100;
  CHECK(dispatched(decode) == 24 * 7168);
  step.stack.merges = true;
  CHECK(dispatched(decode) == 20 * 7168);
}

TEST_CASE("experts split over several replicas receive the tokens of all", "[inference]") {
  InferenceSpec spec = spec_of("deepseek-v3");
  spec.precision = Precision::fp8;
  spec.batch = 64;
  spec.parallel.expert_tensor = 8;
  const InferenceStep split = step_of(spec);
  CHECK(split.layout.data == 8);
  const Program p = inference_program(split, decode_passes(split), 1, true).program;
  // 58 of 61 layers have experts. 8 x 64 tokens of 7168 go there in 8 bits, and come back in 16.
  CHECK(calls_of(p, CollectiveOp::all_gather, Part::expert) == 58);
  CHECK(calls_of(p, CollectiveOp::reduce_scatter, Part::expert) == 58);
  CHECK(calls_of(p, CollectiveOp::alltoall, Part::expert) == 0);
  CHECK(bytes_of_collective(p, CollectiveOp::all_gather) == 8 * 64 * 7168);
  CHECK(bytes_of_collective(p, CollectiveOp::reduce_scatter) == 8 * 64 * 7168 * 2);
  for (const CollectiveKind& k : p.collectives)
    if (k.part == Part::expert) CHECK(p.groups[k.groups] == RankGroups{{0, 1, 2, 3, 4, 5, 6, 7}});
  // A rank holds as much as with whole experts of an eighth, and multiplies as much.
  spec.parallel.expert_tensor = 0;
  spec.parallel.expert = 8;
  const InferenceStep whole = step_of(spec);
  CHECK(held(split, 64) == Approx(held(whole, 64)));
  InferencePass pass;
  pass.sequences = 2048;
  pass.context = 100;
  // Narrower GEMMs, and more output.
  CHECK(time_pass(split, pass).sparse.gemms >= time_pass(whole, pass).sparse.gemms);
  CHECK(time_pass(split, pass).sparse.gemms < 1.5 * time_pass(whole, pass).sparse.gemms);
}

TEST_CASE("redundant experts take memory and reads, and count for divisibility", "[inference]") {
  InferenceSpec spec = spec_of("deepseek-v3");
  spec.precision = Precision::fp8, spec.parallel.expert = 32;
  const InferenceStep plain = step_of(spec, 4);
  spec.experts.redundant = 32;
  const InferenceStep more = step_of(spec, 4);
  // One expert more on each rank, three matrices of 7168 x 2048 in each of 58 layers.
  CHECK(held(more) - held(plain) == Approx(58. * 3 * 7168 * 2048).epsilon(0.01));
  // 288 experts lie on 36 ranks, 256 do not.
  spec.parallel.expert = 36;
  CHECK_NOTHROW(step_of(spec, 9));
  spec.experts.redundant = 0;
  CHECK_THROWS_WITH(step_of(spec, 9), Catch::Contains("expert 36 does not divide 256 experts"));
  // With many tokens every expert is read: nine instead of eight.
  InferencePass pass;
  pass.sequences = 512, pass.context = 100;
  CHECK(time_pass(more, pass).sparse.gemms > time_pass(plain, pass).sparse.gemms);
}

TEST_CASE("experts may be split by two degrees inside a replica", "[inference]") {
  InferenceSpec spec = spec_of("mixtral-8x7b", 4);
  const InferenceStep all = step_of(spec);
  spec.parallel.expert = 2;
  spec.parallel.expert_tensor = 2;
  const InferenceStep two = step_of(spec);
  CHECK(two.layout.expert_tensor == 2);
  const Program p = inference_program(two, decode_passes(two), 1, true).program;
  // As of any layer: two all-reduces each, and one behind the embedding.
  CHECK(calls_of(p, CollectiveOp::all_reduce, Part::tensor) == 65);
  CHECK(calls_of(p, CollectiveOp::alltoall, Part::expert) == 0);
  CHECK(held(two) == Approx(held(all)));
}

TEST_CASE("experts in 4 bits have kernels of their own where the GPU multiplies 4 bits", "[inference]") {
  InferenceSpec spec = spec_of("gpt-oss-120b");
  const NodeSpec blackwell = node_of("hgx-b200");
  const ServingStack stack = step_of(spec, 1, blackwell).stack;
  CHECK(stack.expert_rate.value < stack.expert_rate_4.value);  // as measured
  CHECK(step_of(spec, 1, blackwell).kernels.grouped_limit == stack.expert_rate.value);
  spec.experts.weight_precision = WeightChoice::fp4;
  const InferenceStep own = step_of(spec, 1, blackwell), converted = step_of(spec);
  CHECK(own.kernels.grouped_limit == stack.expert_rate_4.value);
  // They route tokens themselves: nothing but kernels is left.
  CHECK(own.stack.expert_fixed.value == 0);
  // A Hopper GPU has no 4-bit arithmetic, so the general kernels convert the weights.
  CHECK(converted.kernels.grouped_limit == stack.expert_rate.value);
  CHECK(converted.stack.expert_fixed.value == stack.expert_fixed.value);
}

TEST_CASE("copies of tokens are written in the precision of experts, and read in 16 bits", "[inference]") {
  InferenceSpec spec = spec_of("gpt-oss-120b");
  InferencePass pass;
  pass.prompts = 1;
  pass.queries = pass.keys = 4096;
  for (const auto& [precision, bytes] : {std::pair{GemmChoice::bf16, 4}, std::pair{GemmChoice::fp8, 3}}) {
    spec.experts.precision = precision;
    InferenceStep step = step_of(spec);
    // Nothing but the copies: no other traffic, and no least time of a kernel besides the gap to the next.
    step.stack.outside = step.stack.gated_ffn = step.stack.cast = 0;
    step.stack.small_kernel.value = step.stack.expert_fixed.value = 0;
    const LayerTime t = time_pass(step, pass).sparse;
    const int casts = precision == GemmChoice::fp8 ? step.stack.cast_kernels : 0;
    const int kernels = step.stack.ffn_kernels + step.stack.expert_kernels + casts;
    // Each of 4,096 tokens goes to 4 experts, with 2,880 elements.
    const Seconds copies = stream(step.kernels, Bytes{std::int64_t{4096} * 4 * 2880 * bytes});
    CHECK(t.elementwise.value == Approx((copies + kernels * step.kernels.kernel_gap()).value));
  }
}

TEST_CASE("shared experts are a feed-forward block of their own", "[inference]") {
  InferenceSpec spec = spec_of("deepseek-v3", 8);
  spec.precision = Precision::fp8;
  InferenceStep step = step_of(spec);
  InferencePass pass;
  pass.sequences = 1, pass.context = 100;
  const int with = time_pass(step, pass).sparse.kernels;
  step.model.shared_experts = 0;
  // Two GEMMs, a cast for them, and an activation.
  CHECK(with - time_pass(step, pass).sparse.kernels == 2 + step.stack.cast_kernels + step.stack.ffn_kernels);
}

}  // namespace fabricast
