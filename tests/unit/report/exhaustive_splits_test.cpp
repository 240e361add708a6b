// The search for splits against brute force. Every combination of degrees, chunks, shards, micro-batches and
// recomputation is written into a scenario and forecast as `run` does. None that `run` accepts and that fits may be
// faster than the fastest of the search. What the search shares with this test: the ZeRO stages of a framework
// (zero_stages), sequence parallelism wherever there is tensor parallelism, and the schedule that goes with chunks. All
// cases take minutes, so CI runs the first ones; the others are nightly.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <span>

#include "fabricast/report/plan.hpp"
#include "fabricast/scenario/trial.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

struct SmallCase {
  int layers, heads, hidden, experts, sequence, batch, nodes;
  const char *profile, *framework;
};

// Few GPUs and layers, so that brute force takes seconds. Layers that divide and that do not; one node and two; dense
// models and experts; long sequences; GPUs that the model fills and that it does not.
constexpr SmallCase cases[] = {
    {7, 8, 1024, 0, 2048, 8, 1, "hgx-h100", "megatron"},    {10, 16, 2048, 0, 4096, 16, 1, "hgx-h100", "megatron"},
    {8, 16, 2048, 0, 4096, 8, 1, "hgx-h100", "megatron"},   {12, 32, 4096, 0, 4096, 16, 1, "dgx-a100", "megatron"},
    {13, 32, 4096, 0, 2048, 16, 1, "dgx-a100", "megatron"}, {6, 64, 8192, 0, 4096, 8, 1, "hgx-h100", "megatron"},
    {9, 64, 8192, 0, 4096, 16, 1, "hgx-h100", "megatron"},  {14, 64, 8192, 0, 2048, 16, 1, "hgx-h200", "megatron"},
    {8, 16, 2048, 0, 8192, 16, 2, "hgx-h100", "megatron"},  {11, 32, 4096, 0, 4096, 16, 2, "hgx-h100", "megatron"},
    {8, 32, 4096, 0, 16384, 8, 1, "hgx-h100", "megatron"},  {6, 32, 4096, 0, 32768, 8, 1, "hgx-h200", "megatron"},
    {6, 16, 2048, 8, 4096, 16, 1, "hgx-h100", "megatron"},  {8, 16, 2048, 4, 2048, 8, 1, "hgx-h100", "megatron"},
    {7, 32, 4096, 8, 4096, 16, 1, "hgx-h200", "megatron"},  {8, 16, 2048, 0, 4096, 16, 1, "hgx-h100", "fsdp"},
    {12, 32, 4096, 0, 4096, 8, 1, "dgx-a100", "fsdp"},      {10, 32, 4096, 0, 4096, 16, 1, "hgx-h100", "deepspeed"},
    {8, 16, 2048, 0, 2048, 32, 1, "dgx-a100", "ddp"},       {9, 40, 5120, 0, 4096, 16, 1, "hgx-h100", "nemo"}};

World world_of_case(const SmallCase& c) {
  std::string model = fmt::format("layers: {}, hidden: {}, heads: {}, ffn: {}, sequence: {}, vocab: 32000", c.layers,
                                  c.hidden, c.heads, 4 * c.hidden, c.sequence);
  if (c.experts > 0) model += fmt::format(", experts: {}, active_experts: 2", c.experts);
  return test::world_of(fmt::format(
      "node: {{profile: {}}}\ncluster: {{nodes: {}}}\nworkload: {{kind: training_step, framework: {}, model: {{{}}}, "
      "batch: {{global: {}}}}}\n",
      c.profile, c.nodes, c.framework, model, c.batch));
}

class BruteForce {
 public:
  explicit BruteForce(const World& world) : world_(world), changes_(world.scenario()) {}

  double fastest() {
    const TrainingStep step = step_of(world_);
    const int gpus = static_cast<int>(step.layout.ranks());
    for (int tensor = 1; tensor <= gpus; ++tensor)
      for (int context = 1; tensor * context <= gpus; ++context)
        for (int pipeline = 1; tensor * context * pipeline <= gpus; ++pipeline)
          if (gpus % (tensor * context * pipeline) == 0)
            of_degrees({tensor, context, pipeline, 1, gpus / (tensor * context * pipeline)}, step);
    return fastest_;
  }
  int accepted() const { return accepted_; }

 private:
  void of_degrees(Split s, const TrainingStep& step) {
    const bool experts = step.model.experts > 0;
    for (s.interleave = 1; s.interleave * s.pipeline <= step.model.layers; ++s.interleave) {
      if (s.pipeline == 1 && s.interleave > 1) break;
      for (s.micro_batch = 1; s.micro_batch * s.data <= step.global_batch; ++s.micro_batch)
        for (s.expert = 1; s.expert <= (experts ? step.model.experts : 1); ++s.expert)
          for (s.zero = 0; s.zero <= 3; ++s.zero)
            for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::ops, Recompute::full}) {
              s.recompute = r;
              attempt(s, step);
            }
    }
  }

  void attempt(const Split& s, const TrainingStep& base) {
    if (base.global_batch % (s.micro_batch * s.data) != 0) return;
    const std::vector<int> offered = zero_stages(base.stack.framework);
    if (std::find(offered.begin(), offered.end(), s.zero) == offered.end()) return;
    const auto word = [](std::string_view key, const auto& value) { return fmt::format("workload.{}={}", key, value); };
    const std::vector<std::string> set = {word("parallel.tensor", s.tensor),
                                          word("parallel.sequence", s.tensor > 1),
                                          word("parallel.context", s.context),
                                          word("parallel.pipeline", s.pipeline),
                                          word("parallel.interleave", s.interleave),
                                          word("parallel.schedule", s.interleave > 1 ? "interleaved" : "1f1b"),
                                          word("parallel.data", s.data),
                                          word("parallel.expert", s.expert),
                                          word("parallel.zero", s.zero),
                                          word("parallel.shard", 0),
                                          word("batch.micro", s.micro_batch),
                                          word("recompute", name_of(s.recompute))};
    try {
      // The words change the step alone, so the world of GPUs and network serves all.
      const Scenario made = changes_.with(set);
      const int domain = nvlink_ranks(made);
      const TrainingStep step = training_step(made.workload.training, made.node.spec, made.hardware, domain);
      if (memory_of_step(step, domain).share() > 1) return;
      const double seconds = run_step(world_, step).time.value;
      ++accepted_;
      fastest_ = std::min(fastest_, seconds);
    } catch (const UserError&) {
      // `run` refuses it.
    }
  }

  const World& world_;
  ScenarioChanges changes_;
  double fastest_ = std::numeric_limits<double>::infinity();
  int accepted_ = 0;
};

void check_case(const SmallCase& c) {
  CAPTURE(c.layers, c.heads, c.hidden, c.experts, c.sequence, c.batch, c.nodes, c.profile, c.framework);
  const World world = world_of_case(c);
  const PlanResult result = plan_parallel(world, 200);
  REQUIRE_FALSE(result.rows.empty());
  BruteForce brute(world);
  const double fastest = brute.fastest();
  CHECK(brute.accepted() > 10);
  CHECK(result.rows.front().time.value <= fastest * 1.001);
}

TEST_CASE("no split that run accepts is faster than the fastest of the search", "[plan]") {
  for (const SmallCase& c : std::span(cases).first(3)) check_case(c);
}

TEST_CASE("the same for all small cases", "[.all]") {
  for (const SmallCase& c : std::span(cases).subspan(3)) check_case(c);
}

}  // namespace
}  // namespace fabricast
