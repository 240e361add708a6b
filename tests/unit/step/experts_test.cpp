// Dispatch of tokens and launches by the host, in whole steps: bytes compared with combinatorics done here, times
// compared with those of the host alone.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/workload/layer.hpp"
#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::Sets;
using test::step_world;

Sets dispatched(const std::string& by) { return {"workload.experts.dispatcher=" + by}; }

/// B that a rank sends per call of each collective of experts, by ranks of a group. An alltoall includes what it keeps.
std::map<std::size_t, double> bytes_sent(const Program& program) {
  std::map<std::size_t, double> sent;
  for (const CollectiveKind& kind : program.collectives)
    if (kind.part == Part::expert) sent[program.groups[kind.groups].front().size()] = static_cast<double>(kind.bytes);
  return sent;
}

double choose(int n, int k) {
  double c = 1;
  for (int i = 1; i <= k; ++i) c = c * (n - k + i) / i;
  return c;
}

// deepseek-v3 over 64 ranks of eight nodes: 256 experts, eight for each of 4096 tokens of 7168 numbers of 2 B.
TEST_CASE("merged copies cross between nodes once, and inside them once to each rank") {
  const double token = 7168 * 2, tokens = 4096;
  const auto plain = bytes_sent(training_program(step_of(step_world("experts"))));
  REQUIRE(plain.size() == 1);
  CHECK(plain.at(64) == Approx(8 * tokens * token).epsilon(0.01));
  const auto merged = bytes_sent(training_program(step_of(step_world("experts", dispatched("deepep")))));
  // Both groups are of eight, one of each node's place and one of each node: the program has both kinds.
  const Program program = training_program(step_of(step_world("experts", dispatched("hybridep"))));
  std::vector<double> found;
  for (const CollectiveKind& kind : program.collectives)
    if (kind.part == Part::expert && kind.groups < 4) found.push_back(static_cast<double>(kind.bytes) / token / tokens);
  std::sort(found.begin(), found.end());
  REQUIRE(found.size() == 2);
  // Experts of half of the nodes: one of the other half is never among them.
  const double node = (1 - choose(128 - 32, 8) / choose(128, 8)) / 2,
               rank = (1 - choose(128 - 4, 8) / choose(128, 8)) / 2;
  CHECK(found[0] == Approx(8 * node).epsilon(0.01));
  CHECK(found[1] == Approx(64 * rank).epsilon(0.01));
  CHECK(merged.contains(8));
  CHECK_FALSE(merged.contains(64));
}

TEST_CASE("an allgather brings all tokens to all ranks") {
  const Program program = training_program(step_of(step_world("experts", dispatched("allgather"))));
  std::map<CollectiveOp, std::int64_t> bytes;
  for (const CollectiveKind& kind : program.collectives)
    if (kind.part == Part::expert) bytes[kind.op] = kind.bytes;
  CHECK(bytes == std::map<CollectiveOp, std::int64_t>{{CollectiveOp::all_gather, 64ll * 4096 * 7168 * 2},
                                                      {CollectiveOp::reduce_scatter, 64ll * 4096 * 7168 * 2}});
}

TEST_CASE("tokens of experts that tensor parallelism splits are gathered before they are cast") {
  const auto step = step_of(step_world(
      "experts", {"cluster.nodes=1", "workload.model={preset: qwen3-30b-a3b, sequence: 4096}", "workload.precision=fp8",
                  "workload.parallel={tensor: 2, sequence: true, expert: 4, expert_tensor: 2}",
                  "workload.batch={global: 8, micro: 1}"}));
  REQUIRE(gathers_cast(step));
  std::multiset<std::int64_t> gathered;
  for (const CollectiveKind& kind : training_program(step).collectives)
    if (kind.part == Part::tensor && kind.op == CollectiveOp::all_gather) gathered.insert(kind.bytes);
  // Attention's in 8 bits; experts' and the vocabulary's in 16.
  CHECK(gathered.contains(4096ll * 2048));
  CHECK(gathered.contains(4096ll * 2048 * 2));
}

TEST_CASE("copies of tokens exist only with an alltoall") {
  Sets set = dispatched("deepep");
  set.emplace_back("workload.experts.copies=4");
  CHECK_THROWS_AS(step_world("experts", set), UserError);
}

const Sets alone{"cluster.nodes=1", "workload.model={preset: qwen3-30b-a3b, sequence: 4096}",
                 "workload.parallel={expert: 8}", "workload.batch={global: 8, micro: 1}"};

double seconds_with(double launch_us, const Sets& more = {}) {
  const auto world = step_world("experts", test::both(alone, more));
  TrainingStep step = step_of(world);
  step.stack.launch.value = step.stack.router_launch.value = launch_us, step.stack.expert_launch.value = 0;
  return run_step(world, step, {}).time.value;
}

TEST_CASE("a step takes at least the time in which its host launches it") {
  // 48 layers, forward and backward: attention, router and what is around experts.
  const double launches = 48 * 2 * 3, slow = 20000;
  CHECK(seconds_with(slow) > launches * slow * 1e-6);
  CHECK(seconds_with(slow) < launches * slow * 1e-6 + seconds_with(0));
  // A host that is faster than the GPU is ahead of it.
  CHECK(seconds_with(1) == Approx(seconds_with(0)).epsilon(1e-3));
}

TEST_CASE("kernels in a graph cost the host nothing") {
  const double slow = 20000, none = seconds_with(0);
  CHECK(seconds_with(slow, {"workload.cuda_graphs=step"}) == Approx(none).epsilon(1e-9));
  const double all = seconds_with(slow), router = seconds_with(slow, {"workload.cuda_graphs=router"});
  CHECK(all - router == Approx(48 * 2 * slow * 1e-6).epsilon(0.1));
  const double attention = seconds_with(slow, {"workload.cuda_graphs=attention"});
  CHECK(router - attention == Approx(48 * 2 * slow * 1e-6).epsilon(0.1));
  CHECK(attention - none < 48 * 2 * slow * 1e-6);
}

TEST_CASE("where dispatching permutes tokens, the host launches less") {
  const auto world = step_world("experts", test::both(alone, dispatched("hybridep")));
  TrainingStep step = step_of(world);
  step.stack.router_launch.value = 5000, step.stack.fused_launch.value = 300;
  CHECK(time_layer(step, true).ffn.launch_before.value == Approx(300e-6));
  step.dispatcher = Dispatcher::alltoall;
  CHECK(time_layer(step, true).ffn.launch_before.value == Approx(5000e-6));
  step.cuda_graphs = CudaGraphs::router;
  CHECK(time_layer(step, true).ffn.launch_before.value == 0);
}

/// B of all calls in which a rank dispatches or combines tokens.
double all_bytes(const Program& program) {
  double sum = 0;
  for (const Activity& a : program.activities)
    if (a.is_collective() && program.collectives[a.collective].part == Part::expert)
      sum += static_cast<double>(program.collectives[a.collective].bytes) * a.calls;
  return sum;
}

TEST_CASE("overlapped tokens are as many, beside the whole pass of their layer") {
  const auto world = step_world("experts", alone);
  TrainingStep step = step_of(world);
  step.stack.launch.value = step.stack.router_launch.value = step.stack.expert_launch.value = 0;
  step.stack.interference.value = 0;
  const auto waited = [&] {
    const StepForecast f = run_step(world, step, {});
    return f.mean.exposed[static_cast<std::size_t>(Part::expert)].value;
  };
  const double bytes = all_bytes(training_program(step)), all = waited();
  REQUIRE(all > 0);
  step.overlap_expert = true, step.stack.expert_exposed.value = 1;
  CHECK(all_bytes(training_program(step)) == Approx(bytes));
  CHECK(waited() == Approx(all).epsilon(0.03));
  step.stack.expert_exposed.value = 0.25;
  CHECK(all_bytes(training_program(step)) == Approx(bytes));
  // At the start of a pass it shares links with the gathers for the next one.
  CHECK(waited() > 0.98 * all / 4);
  CHECK(waited() < 1.5 * all / 4);
  // What attention takes is there to hide tokens, too: experts' GEMMs alone are shorter than their tokens' way.
  step.stack.expert_exposed.value = 0;
  CHECK(waited() < 0.03 * all);
}

TEST_CASE("each local expert is launched by itself, and cast with 8 bits") {
  const auto world = step_world("experts", alone);
  TrainingStep step = step_of(world);
  step.stack.expert_launch.value = 10, step.stack.launch.value = 0;
  CHECK(time_layer(step, true).ffn.launch.value == Approx(16 * 10e-6));
  step.precision = Precision::fp8;
  CHECK(time_layer(step, true).ffn.launch.value == Approx(16 * 30e-6));
  // All get as many tokens: one kernel casts them.
  step.capacity = 1;
  CHECK(time_layer(step, true).ffn.launch.value == Approx(16 * 10e-6));
  step.stack.launch.value = 7;
  CHECK(time_layer(step, true).ffn.launch.value == Approx(7e-6 + 16 * 10e-6));
  CHECK(time_layer(step, false).ffn.launch.value == Approx(7e-6));
}

TEST_CASE("GEMMs that add to gradients pay for one wave of thread blocks") {
  const auto world = step_world("experts", alone);
  TrainingStep step = step_of(world);
  step.stack.framework = Framework::megatron;
  REQUIRE(step.kernels.multiprocessors == 132);
  const double rate = step.kernels.memory_rate.value * step.kernels.model.stream.value;
  const auto bytes = [&](bool experts) {
    const auto spent = [&](bool adds) {
      step.stack.fused_accumulation = adds;
      return time_layer(step, experts).ffn.weight_gradient;
    };
    return (spent(true) - spent(false)).value * rate;
  };
  // 16 local experts of 2048 x 1536 and 768 x 2048: 96 and 48 blocks of 128 x 256 each, less than a wave. 32-bit
  // gradients are read and written whole.
  CHECK(bytes(true) == Approx(8. * 16 * (2048 * 1536 + 768 * 2048)).epsilon(1e-6));
  // Of a dense block of 2048 x 12288 and 6144 x 2048, 768 and 384 blocks are 6 and 3 waves.
  step.model.ffn = 6144;
  CHECK(bytes(false) == Approx(8. * 2048 * (12288. / 6 + 6144. / 3)).epsilon(1e-6));
  // One kernel for all experts: 1536 and 768 blocks.
  step.stack.grouped_experts = true;
  CHECK(bytes(true) == Approx(8. * 16 * 2048 * (1536. / 12 + 768. / 6)).epsilon(1e-6));
  // NeMo adds to what it reduces.
  step.stack.framework = Framework::nemo, step.stack.gradient_bytes = 2;
  CHECK(bytes(false) == Approx(4. * 2048 * (12288. / 6 + 6144. / 3)).epsilon(1e-6));
  // Gradients that a framework reduces first are added by a kernel of its own.
  for (const auto& [name, stack] : shipped_hardware().stacks) {
    CAPTURE(name);
    CHECK((stack.framework == Framework::megatron || stack.framework == Framework::nemo || !stack.fused_accumulation));
  }
}

TEST_CASE("computation loses the SMs that a dispatcher's kernels occupy") {
  const auto slowed = [](const Sets& set) {
    const auto world = step_world("experts", test::both(alone, test::both(dispatched("deepep"), set)));
    TrainingStep step = step_of(world);
    step.overlap_expert = true;
    return run_step(world, step, {}).mean.interference.value;
  };
  // Gradients slow computation in all of them.
  const double four = slowed({"workload.experts.sms=4"}), eight = slowed({"workload.experts.sms=8"});
  REQUIRE(eight > four);
  CHECK(slowed({"workload.experts.sms=12"}) - eight == Approx(eight - four).epsilon(0.1));
  CHECK(slowed({}) == Approx(slowed({"workload.experts.sms=20"})));
  CHECK_THROWS_WITH(step_world("experts", {"workload.experts.sms=8"}),
                    Catch::Contains("only applies to deepep and hybridep"));
}

TEST_CASE("with FP8 dispatch tokens go in 8 bits, return in 16, and are cast once") {
  const Sets fp8 = test::both(dispatched("deepep"), {"workload.precision=fp8"});
  const auto world = step_world("experts", test::both(alone, fp8));
  TrainingStep step = step_of(world);
  const double before = all_bytes(training_program(step));
  const HalfLayer plain = time_layer(step, true).ffn;
  step.fp8_dispatch = true;
  CHECK(all_bytes(training_program(step)) / before == Approx((1 + 1. / 32 + 2) / 4).epsilon(0.001));
  const HalfLayer cast = time_layer(step, true).ffn;
  // Eight copies of 2048 numbers of each of 4096 tokens are not cast any more, and the tokens are.
  const double rate = step.kernels.memory_rate.value * step.kernels.model.stream.value;
  const double each = step.stack.expert_cast.value * cast_traffic(step.scaling) / cast_traffic(Scaling::delayed);
  CHECK((plain.forward - cast.forward).value == Approx(each * 8 * 4096 * 2048 / rate).epsilon(1e-6));
  CHECK((cast.before - plain.before).value == Approx(each * 4096 * 2048 / rate).epsilon(1e-6));
  CHECK_THROWS_WITH(step_world("experts", test::both(dispatched("deepep"), {"workload.experts.fp8_dispatch=true"})),
                    Catch::Contains("experts that compute in fp8"));
}

TEST_CASE("the host waits for counts of tokens that it needs") {
  const auto waits = [](const Sets& set) {
    const auto world = step_world("experts", test::both(alone, set));
    return time_layer(step_of(world), true).ffn.synchronizes;
  };
  CHECK(waits({}));
  CHECK(waits(dispatched("deepep")));
  CHECK_FALSE(waits(dispatched("hybridep")));
  CHECK_FALSE(waits({"workload.experts.capacity=1"}));
}

TEST_CASE("experts' operands are cast to 8 bits, and permutations that are not fused take longer") {
  const auto world = step_world("experts", alone);
  TrainingStep step = step_of(world);
  const HalfLayer fused = time_layer(step, true).ffn;
  step.fused_permutation = false;
  const HalfLayer apart = time_layer(step, true).ffn;
  // 8 x 4096 copies of 2048 numbers, 16 B each, at the memory's rate.
  const double rate = step.kernels.memory_rate.value * step.kernels.model.stream.value;
  CHECK((apart.before - fused.before).value ==
        Approx((step.stack.eager.value - 1) * 8 * 4096 * 2048 * 16 / rate).epsilon(1e-6));
  step.stack.expert_cast.value = 0, step.fused_permutation = true, step.precision = Precision::fp8;
  const Seconds without = time_layer(step, true).ffn.forward;
  step.stack.expert_cast.value = 2;
  // In: 2048 numbers of a copy to both gates, 768 to the way down.
  CHECK((time_layer(step, true).ffn.forward - without).value ==
        Approx(2. * 8 * 4096 * (2048 + 768) / rate).epsilon(1e-6));
}

}  // namespace
}  // namespace fabricast
