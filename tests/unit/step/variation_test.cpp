// Steps that differ: slow hosts, and jitter.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>

#include "fabricast/report/step.hpp"
#include "sim/answer/collective/variation.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

World world(int nodes, const std::string& parallel, int batch, const std::string& variation,
            const std::string& model = "preset: llama2-7b, sequence: 2048") {
  return test::world_of(
      fmt::format("node: {{profile: hgx-h100}}\ncluster: {{nodes: {}}}\n"
                  "fabric: {{kind: single_switch}}\n"
                  "workload:\n  kind: training_step\n  model: {{{}}}\n"
                  "  batch: {{global: {}}}\n  parallel: {{{}}}\n  fixed: 0s\n  variation: {{{}}}\n",
                  nodes, model, batch, parallel, variation));
}
std::vector<double> slower(const World& w, std::size_t sample = 0) {
  const TrainingStep step = step_of(w);
  const Program program = training_program(step);
  return Variation(step, w.scenario().workload.training.variation, slow_parts(w), 8, program).slower(sample);
}
double computing(const ActorTimes& times) {
  double sum = 0;
  for (const Seconds time : times.busy) sum += time.value;
  return sum;
}

TEST_CASE("without variation all steps are equal") {
  const auto w = world(2, "", 16, "steps: 5");
  CHECK(slower(w).empty());
  const StepForecast f = run_step(w);
  CHECK(f.samples == 5);
  CHECK(f.time_worst.value == f.time_p5.value);
}

TEST_CASE("with data parallelism alone one slow host slows every step by its slowdown of computation") {
  const auto usual = world(4, "zero: 0", 64, ""), slow = world(4, "zero: 0", 64, "slow_hosts: 1, slowdown: 0.25");
  const StepForecast before = run_step(usual), after = run_step(slow);
  CHECK(computing(after.mean) == Approx(1.25 * computing(before.mean)));
  // One slow host in four is as bad as four.
  for (std::size_t sample = 0; sample < 20; ++sample) {
    const auto some = world(4, "zero: 0", 64, "slow_hosts: 0.25, slowdown: 0.25");
    const double factor = slower(some, sample).at(0);
    CHECK((factor == 1 || factor == 1.25));
    if (factor != 1)
      CHECK(run_step(world(4, "zero: 0", 64,
                           fmt::format("slow_hosts: 0.25, slowdown: 0.25, seed: 1, steps: {}", sample + 1)))
                .time_worst.value == Approx(after.time.value));
  }
}

TEST_CASE("a host or a GPU that a fault names computes slower in every step") {
  const auto named = [](const std::string& faults) {
    const auto w =
        test::world_of("node: {profile: hgx-h100}\ncluster: {nodes: 4}\nfabric: {kind: single_switch}\n" + faults +
                       "workload:\n  kind: training_step\n  model: {preset: llama2-7b, sequence: 2048}\n"
                       "  batch: {global: 64}\n  parallel: {zero: 0}\n  fixed: 0s\n");
    return computing(run_step(w).mean);
  };
  const double usual = named("");
  CHECK(named("faults: [{host: 3, clock: 80%}]\n") == Approx(1.25 * usual));
  CHECK(named("faults: [{gpu: node1.gpu5, clock: 50%}]\n") == Approx(2 * usual));
  // The slowest counts; a host beyond the job does not.
  CHECK(named("faults: [{host: 0, clock: 90%}, {gpu: node2.gpu0, clock: 80%}]\n") == Approx(1.25 * usual));
}

TEST_CASE("a pipeline runs at the pace of the slowest stage of the slowest replica") {
  // Stage s is host s, of eight replicas at once.
  const auto w = world(8, "pipeline: 8", 512, "slow_hosts: 0.12, slowdown: 0.5");
  bool one = false;
  for (std::size_t sample = 0; sample < 50 && !one; ++sample) {
    const std::vector<double> found = slower(w, sample);
    REQUIRE(found.size() == 8);
    if (std::count(found.begin(), found.end(), 1.5) != 1 || std::count(found.begin(), found.end(), 1.0) != 7) continue;
    one = true;
    const auto all = world(8, "pipeline: 8", 512, "slow_hosts: 1, slowdown: 0.5"),
               none = world(8, "pipeline: 8", 512, "");
    const auto these =
        world(8, "pipeline: 8", 512, fmt::format("slow_hosts: 0.12, slowdown: 0.5, steps: {}", sample + 1));
    const double worst = run_step(these).time_worst.value, most = run_step(all).time.value,
                 least = run_step(none).time.value;
    // 63 of 71 rounds go at the pace of the slow one, which without its slowness may be faster than the last one.
    CHECK(worst > least * 1.2);
    CHECK(worst <= most * (1 + 1e-9));
  }
  CHECK(one);
}

TEST_CASE("the replica with the longest step counts, not the one with most slow hosts") {
  const auto w = world(16, "tensor: 8, pipeline: 4", 64, "slow_hosts: 0.3, slowdown: 0.2");
  const TrainingStep step = step_of(w);
  const Program program = training_program(step);
  std::vector<double> work(4, 0);
  for (std::size_t i = 0; i < program.activities.size(); ++i)
    if (!program.activities[i].is_collective())
      work[program.places_of(i).front().actor] += program.activities[i].time.value;
  const auto heavy = static_cast<std::size_t>(std::max_element(work.begin(), work.end()) - work.begin());
  const Variation variation(step, w.scenario().workload.training.variation, {}, 8, program);
  int hit = 0;
  for (std::size_t sample = 0; sample < 200; ++sample) hit += variation.slower(sample)[heavy] > 1;
  // One of four replicas has the stage with most work slow with the odds 1 - 0.7^4 = 0.76; the one with most slow hosts
  // has it so in about 0.6.
  CHECK(hit == Approx(152).margin(15));
}

TEST_CASE("replicas that share experts run at one pace") {
  const std::string model = "preset: mixtral-8x7b, sequence: 2048";
  // Pipeline stages of one host each hold a replica of one GPU apiece; experts join all eight.
  const auto alone = world(16, "tensor: 8, pipeline: 2, expert: 1", 64, "slow_hosts: 0.3, slowdown: 0.2", model);
  const auto joined =
      world(16, "tensor: 8, pipeline: 2, expert: 8, expert_tensor: 8", 64, "slow_hosts: 0.3, slowdown: 0.2", model);
  int more = 0;
  for (std::size_t sample = 0; sample < 20; ++sample) {
    const std::vector<double> a = slower(alone, sample), b = slower(joined, sample);
    for (std::size_t s = 0; s < 2; ++s) CHECK(b[s] >= a[s]);
    more += b != a;
  }
  CHECK(more > 0);
}

TEST_CASE("jitter makes steps longer, the more GPUs wait for each other, and gives a distribution") {
  const StepForecast none = run_step(world(4, "zero: 0", 64, "")),
                     few = run_step(world(4, "zero: 0", 64, "jitter: 0.02, steps: 40")),
                     many = run_step(world(32, "zero: 0", 512, "jitter: 0.02, steps: 40"));
  const double compute = computing(none.mean);
  CHECK(few.time_worst.value > few.time.value);
  CHECK(few.time.value > few.time_p5.value);
  CHECK(few.time_p5.value > none.time.value);
  // The largest of 32 normal deviates has the mean 2.07, of 256 2.78.
  CHECK(computing(few.mean) == Approx(compute * (1 + 0.02 * 2.07)).epsilon(0.01));
  CHECK(computing(many.mean) == Approx(compute * (1 + 0.02 * 2.78)).epsilon(0.01));
}

}  // namespace
}  // namespace fabricast
