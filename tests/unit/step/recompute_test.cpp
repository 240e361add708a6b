// Costs and savings of recomputing single modules, and activations in host memory, compared with counts done here.
#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/workload/layer.hpp"
#include "fabricast/workload/step_memory.hpp"
#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::Sets;
using test::step_world;

// 48 layers of 2048, 32 heads of 128 and 4 of keys, 128 experts of 768, eight for each of 4096 tokens.
const Sets qwen{"cluster.nodes=1", "workload.model={preset: qwen3-30b-a3b, sequence: 4096}",
                "workload.parallel={expert: 8}", "workload.batch={global: 8, micro: 1}"};

TrainingStep step_with_set(const Sets& more) { return step_of(step_world("experts", test::both(qwen, more))); }
Sets modules(const std::string& list) { return {"workload.recompute_modules=[" + list + "]"}; }

/// B per token and layer.
double kept(const Sets& more) {
  const TrainingStep step = step_with_set(more);
  return kept_by_layer(step.model, memory_question(step, step.nvlink_ranks), true) / 4096;
}

TEST_CASE("recomputed modules keep only their inputs") {
  const double all = kept({}), hidden = 2048, copies = 8;
  CHECK(all - kept(modules("core_attn")) == Approx(4 * 32));
  CHECK(all - kept(modules("layernorm")) == Approx(2 * 2 * hidden + 0));
  CHECK(all - kept(modules("moe_act")) == Approx(2 * copies * 768));
  // Copies at 16 bits, both gates and their product, and the router's logits.
  CHECK(all - kept(modules("moe")) == Approx(copies * (2 * hidden + 6 * 768) + 8 * 128));
  CHECK(kept(modules("moe_act, layernorm")) == Approx(all - 2 * copies * 768 - 4 * hidden));
  CHECK(kept({"workload.recompute=full"}) < kept(modules("moe, layernorm, core_attn")));
  // Dense layers have none of these.
  CHECK(kept(modules("mlp")) == all);
}

TEST_CASE("latent attention keeps its latent vectors when it projects them again") {
  const auto per_token = [](const Sets& more) {
    const TrainingStep step = step_of(step_world("experts", more));
    return kept_by_layer(step.model, memory_question(step, 8), true) / 4096;
  };
  // 128 heads: queries and keys of 192, values of 128, at 16 bits.
  CHECK(per_token({}) - per_token(modules("mla_up_proj")) == Approx(2 * 128 * (2 * 192 + 128)));
  CHECK(per_token({}) > per_token(modules("shared_experts")));
}

TEST_CASE("recomputation takes as long as the first computation") {
  const auto again = [](const Sets& more) {
    const TrainingStep step = step_with_set(more);
    return recompute_time(step, time_layer(step, true), true).value;
  };
  const LayerTimes t = time_layer(step_with_set({}), true);
  CHECK(again({}) == 0);
  CHECK(again(modules("core_attn")) == Approx(t.attention.core.value));
  CHECK(again({"workload.recompute=selective"}) == again(modules("core_attn")));
  CHECK(again(modules("moe")) == Approx((t.ffn.before + t.ffn.forward).value));
  CHECK(again(modules("core_attn, moe")) == Approx(again(modules("core_attn")) + again(modules("moe"))));
  CHECK(again(modules("mlp")) == 0);
  // A norm reads and writes 2048 numbers of 2 B for each token, of 3.35 TB/s at most.
  CHECK(again(modules("layernorm")) > 2 * 4 * 4096 * 2048 / 3.35e12);
  CHECK(again(modules("layernorm")) < 3 * 4 * 4096 * 2048 / 3.35e12);
  CHECK(again({"workload.recompute=full"}) >= again(modules("core_attn, moe, layernorm")));
}

// 32 layers of 4096, 32 heads of 128 and 8 of keys, feed-forward blocks of 14336, gated.
const Sets llama{"cluster.nodes=1",
                 "workload.model={preset: llama3-8b, sequence: 4096}",
                 "workload.parallel={data: 8}",
                 "workload.batch={global: 8, micro: 1}",
                 "workload.framework=fsdp",
                 "workload.stack=torchtitan-24.12"};
TrainingStep dense_step(const Sets& more) { return step_of(step_world("experts", test::both(llama, more))); }

TEST_CASE("recomputed GEMMs keep nothing of what they give") {
  const auto per_token = [](const Sets& more, bool planned = false) {
    const TrainingStep step = dense_step(more);
    MemoryQuestion question = memory_question(step, 8);
    question.planned = planned;
    return kept_by_layer(step.model, question, false) / 4096;
  };
  const double all = per_token({});
  CHECK(all - per_token(modules("linear_fc1")) == Approx(3 * 2 * 14336));
  CHECK(all - per_token(modules("linear_qkv")) == Approx(2 * (4096 + 2 * 1024)));
  CHECK(all - per_token(modules("linear_proj")) == Approx(2 * 4096));
  // The core is given again, so neither its 32-bit sums nor the input of the projection are kept.
  CHECK(all - per_token(modules("core_attn, linear_proj")) == Approx(4 * 32 + 2 * 4096 + 2 * 4096));
  // MaxText's save_qkv_proj keeps the input of a layer, queries, keys and values.
  CHECK(per_token(modules("core_attn, layernorm, linear_proj, linear_fc1")) == Approx(2 * (4096 + 4096 + 2 * 1024)));
  // save_dot_except_mlp also keeps what the output projection gives.
  CHECK(per_token(modules("core_attn, layernorm, linear_fc1"), true) == Approx(2 * (3 * 4096 + 2 * 1024)));
}

TEST_CASE("recomputed GEMMs take the time of their operations") {
  const auto again = [](const Sets& more) {
    const TrainingStep step = dense_step(more);
    return recompute_time(step, time_layer(step, false), false).value;
  };
  // 2 operations for each number of a matrix and token, at no more than 989 TFLOP/s.
  const auto fastest = [](double numbers) { return 2 * 4096 * numbers / 989e12; };
  const double fc1 = again(modules("linear_fc1")), qkv = again(modules("linear_qkv")),
               proj = again(modules("linear_proj"));
  CHECK(fc1 > fastest(4096. * 2 * 14336));
  CHECK(fc1 < 2 * fastest(4096. * 2 * 14336));
  CHECK(qkv > fastest(4096. * (4096 + 2 * 1024)));
  CHECK(qkv < 2 * fastest(4096. * (4096 + 2 * 1024)));
  CHECK(proj > fastest(4096. * 4096));
  CHECK(proj < 2 * fastest(4096. * 4096));
  CHECK(again(modules("core_attn, layernorm, linear_qkv, linear_proj, linear_fc1")) <
        again({"workload.recompute=full"}));
}

TEST_CASE("a full recomputation that ends early leaves out the last GEMM and its collective") {
  struct Repeated {
    double seconds = 0, collectives = 0;
  };
  const auto repeated = [](bool early) {
    TrainingStep step =
        dense_step({"workload.recompute=full", "workload.parallel={tensor: 2, sequence: true, data: 4}"});
    step.stack.ends_recompute_early = early;
    Repeated r;
    for (const Activity& a : training_program(step).activities) {
      if (a.part == Part::recompute) r.seconds += a.time.value;
      if (a.part == Part::tensor) r.collectives += a.calls;
    }
    return r;
  };
  const Repeated whole = repeated(false), early = repeated(true);
  const double last = 2 * 4096. * (14336. / 2) * 4096 / 989e12;
  const double layers = 32, batches = 2;
  CHECK(whole.seconds - early.seconds > layers * batches * last);
  CHECK(whole.seconds - early.seconds < 2 * layers * batches * last);
  CHECK(whole.collectives - early.collectives == Approx(layers * batches));
}

TEST_CASE("a planned memory loses nothing to fragmentation, and logits use that of layers") {
  const TrainingStep step = dense_step({"workload.recompute=full"});
  MemoryQuestion question = memory_question(step, 8);
  const auto stage = [&](bool planned) {
    question.planned = planned;
    return memory_of(step.model, question, 0);
  };
  const MemoryUse apart = stage(false), planned = stage(true);
  CHECK(planned.fragmentation == 0);
  CHECK(apart.fragmentation > 0);
  CHECK(planned.total() ==
        Approx(apart.total() - apart.fragmentation - std::min(apart.logits, apart.gathered + apart.workspace)));
}

TEST_CASE("recomputed experts get their tokens dispatched again") {
  const auto calls = [](const Sets& more) {
    const Program program = training_program(step_with_set(more));
    double sum = 0;
    for (const Activity& a : program.activities)
      if (a.part == Part::expert) sum += a.calls;
    return sum;
  };
  // Dispatch and combine, forward and backward; and once more dispatch and combine.
  CHECK(calls({}) == Approx(4 * 48));
  CHECK(calls(modules("moe_act")) == Approx(4 * 48));
  CHECK(calls(modules("moe")) == Approx(6 * 48));
  CHECK(calls({"workload.recompute=full"}) == Approx(6 * 48));
}

TEST_CASE("a list of modules implies selective recomputation") {
  CHECK(step_with_set(modules("moe")).recompute.kind == Recompute::selective);
  CHECK_THROWS_AS(step_with_set({"workload.recompute=full", "workload.recompute_modules=[moe]"}), UserError);
  CHECK(to_text(step_with_set(modules("moe_act, layernorm")).recompute) == "selective (moe_act, layernorm)");
}

double seconds_with(const TrainingStep& step, const Sets& more) {
  const auto world = step_world("experts", test::both(qwen, more));
  return run_step(world, step, {}).time.value;
}

TEST_CASE("activations in host memory need GPU memory for two layers only, and time on a slow link") {
  const auto use = [](int layers) {
    const TrainingStep step = step_with_set({"workload.offload_layers=" + std::to_string(layers)});
    return peak_memory(step.model, memory_question(step, step.nvlink_ranks)).activations;
  };
  CHECK(use(2) == use(0));
  CHECK(use(26) == Approx(use(0) / 2));
  CHECK(use(48) == Approx(use(0) * 2 / 48));
  CHECK(use(1000) == use(48));
  const Sets away{"workload.offload_layers=40"};
  TrainingStep step = step_with_set(away);
  const double bytes = 40 * kept_by_layer(step.model, memory_question(step, step.nvlink_ranks), true);
  step.host_rate = BytesPerSecond{1e16};
  const double free = seconds_with(step, away);
  CHECK(free == Approx(seconds_with(step_with_set({}), {})).epsilon(1e-6));
  // Offloading overlaps the forward pass, loading the backward pass; on a slow link, all that is not hidden shows.
  step.host_rate = BytesPerSecond{1e9};
  const double slow = seconds_with(step, away);
  CHECK(slow > 2 * bytes / 1e9);
  CHECK(slow < 2 * bytes / 1e9 + free);
}

}  // namespace
}  // namespace fabricast
