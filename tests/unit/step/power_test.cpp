// GEMMs run faster where other kernels leave them power: the law by its limits, and against the energy of a layer.
#include <algorithm>
#include <catch2/catch.hpp>

#include "fabricast/workload/layer.hpp"
#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::Sets;
using test::step_world;

// Wide layers, whose GEMMs memory does not bound.
const Sets wide{
    "cluster.nodes=1", "node.gpus=1", "workload.parallel={}",
    "workload.model={layers: 4, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocab: 32000, sequence: 8192}",
    "workload.batch={global: 1, micro: 1}"};

TrainingStep plain_step(const Sets& more = {}) {
  TrainingStep step = step_of(step_world("zero3", test::both(wide, more)));
  step.kernels.boost = 1;
  return step;
}

double boost(const TrainingStep& step) { return boost_of(step.kernels, kernel_mix(step)); }

Seconds time_of(const HalfLayer& half) {
  return half.before + half.forward + half.before_backward + half.data_gradient + half.weight_gradient;
}
/// Time of a micro-batch without the embedding.
Seconds time_of(const TrainingStep& step) {
  const LayerTimes t = time_layer(step, false);
  const VocabularyTimes v = time_vocabulary(step);
  return static_cast<double>(step.model.layers) * (time_of(t.attention) + time_of(t.ffn)) + v.forward + v.backward;
}

TEST_CASE("GEMMs keep their rate if nothing leaves them power, and never exceed that of the full clock") {
  TrainingStep step = plain_step();
  step.kernels.model.stream_power.value = step.kernels.model.flash_power.value = 1;
  CHECK(boost(step) == 1);
  step.kernels.model.stream_power.value = step.kernels.model.flash_power.value = 0;
  step.kernels.model.burst.value = 1.02;
  CHECK(boost(step) == Approx(1.02));
  step.kernels.model.burst.value = 1;
  CHECK(boost(step) == 1);
}

TEST_CASE("a micro-batch takes its energy over the power limit") {
  TrainingStep step = plain_step();
  ComputeModel& model = step.kernels.model;
  // All other kernels draw the same share of the limit, so that their sum suffices.
  model.stream_power.value = model.flash_power.value = 0.9, model.burst.value = 2;
  const Seconds slow = time_of(step);
  step.kernels.boost = boost(step);
  const Seconds fast = time_of(step);
  // Without GEMMs: what is left when they take almost no time.
  TrainingStep others = step;
  for (Parameter* p : {&others.stack.gemm}) p->value = 1e9;
  const Seconds rest = time_of(others);
  CHECK(step.kernels.boost > 1.01);
  CHECK((slow - fast) / rest == Approx(0.1).epsilon(0.03));
}

// Steps in a loop on one H100, measured for this project on 2026-11-26: ms of kernels per micro-batch, and TFLOP/s of
// GEMMs, which reach 690 when nothing else runs.
struct MeasuredMix {
  const char* name;
  double gemms, attention, others, rate;
};

TEST_CASE("GEMMs among other kernels are as fast as measured") {
  constexpr double alone = 690;
  const Kernels h100 = step_of(step_world("zero3", wide)).kernels;
  for (const MeasuredMix& m :
       {MeasuredMix{"70B, two layers, eager", 65.5, 8.4, 15.4, 741},
        MeasuredMix{"70B, two layers, compiled, cuDNN attention", 68.1, 4.8, 10.0, 712},
        MeasuredMix{"8B, six layers", 59.0, 12.8, 26.7, 765}, MeasuredMix{"1B, 8,192 tokens", 72.0, 59.6, 57.3, 844},
        MeasuredMix{"1B, 8,192 tokens, compiled", 73.5, 60.4, 36.1, 826},
        MeasuredMix{"MoE of 128 experts", 13.6, 5.6, 21.5, 871}}) {
    INFO(m.name);
    const double rate =
        alone * boost_of(h100, {Seconds{m.gemms * m.rate / alone}, Seconds{m.attention}, Seconds{m.others}});
    CHECK(rate == Approx(m.rate).epsilon(0.1));
  }
}

TEST_CASE("a lower power limit leaves less to GEMMs") {
  TrainingStep full = plain_step(), limited = plain_step({"node.power=500W"});
  CHECK(limited.kernels.power == Approx(500. / 700));
  CHECK(boost(limited) < boost(full));
}

TEST_CASE("the step of a model uses the boost, and a wider one has less of it") {
  const TrainingStep step = step_of(step_world("zero3", wide));
  CHECK(step.kernels.boost == boost(plain_step()));
  const TrainingStep narrow = step_of(step_world(
      "zero3",
      test::both(wide, {"workload.model={layers: 4, hidden: 2048, heads: 32, kv_heads: 8, ffn: 8192, vocab: 32000, "
                        "sequence: 8192}"})));
  CHECK(narrow.kernels.boost > step.kernels.boost);
}

TEST_CASE("FlashAttention 2 is slower than the kernel for Hopper, and is the kernel for Ampere") {
  const auto core = [](const Sets& more) { return time_layer(plain_step(more), false).attention.core; };
  const double ratio = plain_step().kernels.model.flash_2.value;
  CHECK(ratio < 0.7);
  CHECK(core({"workload.flash_2=false"}) / core({"workload.flash_2=true"}) == Approx(ratio).epsilon(0.02));
  const Sets a100{"node={profile: dgx-a100, gpus: 1}"};
  CHECK(core(test::both(a100, {"workload.flash_2=false"})) == core(test::both(a100, {"workload.flash_2=true"})));
}

}  // namespace
}  // namespace fabricast
