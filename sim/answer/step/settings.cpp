// All changes that `explain` tries on a training step. Each line of the table at the end is a kind of change; changes
// of network and nodes are in network_trials.
//
// A change that the scenario does not accept (degrees that do not divide, a schedule without chunks) is skipped when it
// is tried, so conditions here only avoid pointless trials. Words are relative to the effective scenario, in which
// every default is filled in: whatever follows from a changed key must be set as well.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fabricast/core/names.hpp"
#include "fabricast/report/plan.hpp"
#include "fabricast/report/step_advice.hpp"
#include "fabricast/workload/stages.hpp"
#include "step_time.hpp"
#include "trials.hpp"

namespace fabricast {

namespace {

/// What changes are derived from.
struct StepGround {
  const World& world;
  const StepForecast& forecast;
  const TrainingSpec& spec;
  const TrainingStep step;
  const ParallelLayout& layout() const { return step.layout; }
};
using G = const StepGround&;

constexpr auto one = one_if<Trial>;

std::string key(std::string_view name, std::string_view value) { return fmt::format("workload.{}={}", name, value); }
template <class T>
std::string key(std::string_view name, const T& value) {
  return fmt::format("workload.{}={}", name, value);
}

/// Discards the list of layers per chunk, because the number of chunks changes.
void forget_layers(G g, std::vector<std::string>& set) {
  if (!g.spec.parallel.layers.empty()) set.push_back(key("parallel.layers", "[]"));
}

/// Degrees that determine the layout; the remaining factor of the GPUs is the number of replicas.
struct Degrees {
  int tensor, context, pipeline;
};
/// The `--set` words that change the layout to these degrees.
/// Sequence parallelism goes with tensor parallelism. Chunks per stage stay if the layers suffice. The group that
/// shares ZeRO state covers all of the new replicas.
std::vector<std::string> split_words(G g, const Degrees& d) {
  const ParallelSpec& p = g.spec.parallel;
  std::vector<std::string> set;
  const auto say = [&](std::string_view name, std::int64_t degree, std::int64_t now) {
    if (degree != now) set.push_back(key(name, degree));
  };
  say("parallel.tensor", d.tensor, p.tensor);
  say("parallel.context", d.context, p.context);
  say("parallel.pipeline", d.pipeline, p.pipeline);
  const std::int64_t data = g.forecast.gpus / d.tensor / d.context / d.pipeline;
  say("parallel.data", data, g.layout().data);
  if (p.zero > 0 && data * d.context != std::int64_t{g.layout().data} * g.layout().context)
    set.push_back(key("parallel.shard", 0));  // over all of the new replicas
  if (p.sequence && d.tensor == 1) set.push_back(key("parallel.sequence", false));
  if (!p.sequence && p.tensor == 1 && d.tensor > 1) set.push_back(key("parallel.sequence", true));
  if (p.expert_tensor > 1) set.push_back(key("parallel.expert_tensor", d.tensor));
  const int chunks = d.pipeline == 1 || d.pipeline * p.interleave > g.step.model.layers ? 1 : p.interleave;
  if (chunks != p.interleave) {
    set.push_back(key("parallel.interleave", chunks));
    set.push_back(key("parallel.schedule", "auto"));
  }
  forget_layers(g, set);
  return set;
}

/// Degrees twice or half as large, compensated by another degree or by the number of replicas.
Alternatives splits(G g) {
  const ParallelSpec& p = g.spec.parallel;
  const Degrees now{p.tensor, p.context, p.pipeline};
  // Tensor parallelism beyond the NVLink domain is not tried, because it communicates in every layer.
  const int most_tensor = nvlink_ranks(g.world.scenario());
  Alternatives list;
  for (const int t : {-1, 0, 1})
    for (const int c : {-1, 0, 1})
      for (const int s : {-1, 0, 1}) {
        // At most one net doubling or halving: tensor x 2 alone or with pipeline / 2, but not all degrees at once.
        if ((t == 0 && c == 0 && s == 0) || std::abs(t + c + s) > 1) continue;
        const auto scaled = [](int degree, int by) { return by > 0 ? 2 * degree : by == 0 ? degree : degree / 2; };
        const auto whole = [](int degree, int by) { return by >= 0 || degree % 2 == 0; };
        if (!whole(p.tensor, t) || !whole(p.context, c) || !whole(p.pipeline, s)) continue;
        // Context parallelism is increased only if the scenario already uses it.
        if (c > 0 && p.context == 1) continue;
        const Degrees d{scaled(now.tensor, t), scaled(now.context, c), scaled(now.pipeline, s)};
        if (d.tensor > most_tensor) continue;
        const std::int64_t others = std::int64_t{d.tensor} * d.context * d.pipeline;
        if (g.forecast.gpus % others != 0) continue;
        std::string what = fmt::format("tensor {}", d.tensor);
        if (now.context > 1) what += fmt::format(" x context {}", d.context);
        what += fmt::format(" x pipeline {} x data {}", d.pipeline, g.forecast.gpus / others);
        list.push_back({std::move(what), split_words(g, d)});
      }
  return list;
}

// Larger buckets have less latency; smaller ones start to be reduced earlier. Which is better depends on the network.
Alternatives buckets(G g) {
  Alternatives list;
  if (g.layout().data * g.layout().context == 1 || g.spec.overlap.data != Choose::yes) return list;
  const std::int64_t now = g.spec.overlap.bucket.value;
  list.push_back({"gradient buckets 4 times as large", {key("overlap.bucket", fmt::format("{}B", 4 * now))}});
  if (now >= 4)
    list.push_back({"gradient buckets a quarter as large", {key("overlap.bucket", fmt::format("{}B", now / 4))}});
  return list;
}

/// Other kinds of recomputation: those that recompute less, or those that recompute more.
Alternatives recomputing(G g, bool less) {
  Alternatives list;
  for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::ops, Recompute::full})
    if (r != g.spec.recompute && (r < g.spec.recompute) == less) {
      list.push_back({fmt::format("recompute {}", name_of(r)), {key("recompute", name_of(r))}});
      // The list of modules belongs to the scenario's own kind of recomputation.
      if (!g.spec.recompute_modules.empty()) list.back().set.push_back(key("recompute_modules", "[]"));
    }
  return list;
}

// Larger micro-batches have more efficient GEMMs, but more memory and a longer bubble.
Alternatives micro_batches(G g) {
  Alternatives list;
  const int now = g.spec.batch.micro;
  list.push_back({fmt::format("micro-batches of {}", 2 * now), {key("batch.micro", 2 * now)}});
  if (now % 2 == 0) list.push_back({fmt::format("micro-batches of {}", now / 2), {key("batch.micro", now / 2)}});
  return list;
}

// More chunks per stage shorten the bubble by their number and add sends between stages [Narayanan2021]. The schedule
// `auto` follows the number of chunks.
Alternatives chunks(G g) {
  Alternatives list;
  const int stages = g.layout().pipeline;
  if (stages == 1) return list;
  for (const int v : {1, 2, 3, 4, 6, 8}) {
    if (v == g.step.interleave || stages * v > g.step.model.layers) continue;
    list.push_back(
        {v == 1 ? std::string("one chunk of layers per stage") : fmt::format("{} chunks of layers per stage", v),
         {key("parallel.interleave", v), key("parallel.schedule", "auto")}});
    forget_layers(g, list.back().set);
  }
  return list;
}

// Fills the bubble with weight gradients [Qi2023]. It has one chunk per stage.
Alternatives zero_bubble(G g) {
  if (g.layout().pipeline == 1 || g.step.schedule == PipelineSchedule::zero_bubble) return {};
  Trial trial{"schedule zero_bubble", {key("parallel.schedule", "zero_bubble"), key("parallel.interleave", 1)}};
  forget_layers(g, trial.set);
  return {std::move(trial)};
}

/// Fewer layers on the stages that hold embedding or logits, so that FLOPs are as even as possible over the stages.
Alternatives layers(G g) {
  if (g.layout().pipeline == 1) return {};
  const std::vector<int> even =
      balanced_layers(g.step.model, g.layout().pipeline, g.step.interleave, g.step.mtp_layers);
  return {{"fewer layers in stages with the vocabulary",
           {key("parallel.layers", fmt::format("[{}]", fmt::join(even, ", ")))}}};
}

// Less sharding communicates less, more sharding saves memory. The shard is all replicas again.
Alternatives zero(G g) {
  Alternatives list;
  if (g.layout().data * g.layout().context == 1) return list;
  for (const int z : zero_stages(g.step.stack.framework))
    if (z != g.spec.parallel.zero)
      list.push_back({z == 0 ? std::string("no sharding (ZeRO 0)") : fmt::format("ZeRO {}", z),
                      {key("parallel.zero", z), key("parallel.shard", 0)}});
  return list;
}

Alternatives experts(G g) {
  Alternatives list;
  if (g.step.model.experts == 0) return list;
  const int now = g.layout().expert;
  list.push_back({fmt::format("experts over {} ranks", 2 * now), {key("parallel.expert", 2 * now)}});
  if (now % 2 == 0) list.push_back({fmt::format("experts over {} ranks", now / 2), {key("parallel.expert", now / 2)}});
  return list;
}

using Kind = Alternatives (*)(const StepGround&);

// In the order of docs/models/training-answers.md. Network and splits follow in trials.cpp.
constexpr Kind kinds[] = {
    [](G g) {
      return one(g.spec.overlap.data != Choose::yes, "overlap data parallelism", {key("overlap.data", true)});
    },
    [](G g) {
      return one(g.layout().tensor > 1 && g.spec.overlap.tensor != Choose::yes,
                 "overlap tensor parallelism with its GEMMs", {key("overlap.tensor", true)});
    },
    [](G g) {
      return one(g.layout().pipeline > 1 && g.spec.overlap.pipeline != Choose::yes, "overlap pipeline parallelism",
                 {key("overlap.pipeline", true)});
    },
    [](G g) {
      return one(g.layout().expert > 1 && g.spec.overlap.expert != Choose::yes, "overlap expert parallelism",
                 {key("overlap.expert", true)});
    },
    buckets,
    [](G g) {
      return one(g.layout().tensor > 1 && !g.spec.parallel.sequence, "sequence parallelism",
                 {key("parallel.sequence", true)});
    },
    [](G g) { return recomputing(g, true); },
    // More recomputation only costs time, so it is tried only where the step does not fit.
    [](G g) { return g.forecast.memory.share() > 1 ? recomputing(g, false) : Alternatives{}; },
    micro_batches,
    chunks,
    zero_bubble,
    layers,
    zero,
    experts,
    [](G g) {
      return one(g.spec.gradients.precision != GradientPrecision::bf16, "gradients reduced in bf16",
                 {key("gradients.precision", "bf16")});
    },
};

}  // namespace

std::vector<Alternatives> step_trials(const StepForecast& forecast) {
  const World& world = forecast.world;
  const StepGround ground{world, forecast, world.scenario().workload.training, step_of(world)};
  std::vector<Alternatives> all = trials_of(kinds, ground);
  for (Alternatives& list : nccl_trials(world, step_time_of(forecast))) all.push_back(std::move(list));
  for (Alternatives& list : network_trials(world)) all.push_back(std::move(list));
  for (Trial& split : splits(ground)) all.push_back({std::move(split)});  // each is reported by itself
  return all;
}

}  // namespace fabricast
