// What limits an inference step, and which changes help: the decisions behind `explain` (report/inference_advice.hpp).
// The list of changes is settings.cpp, the text explain.cpp.
#include <algorithm>

#include "../step/step_time.hpp"
#include "../step/trials.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "parts.hpp"

namespace fabricast {

// With requests the goal is tokens per second and GPU, which also compares configurations that divide the GPUs in
// another way. A single phase has no requests, so its only figure is the time of its step.
InferenceGoal goal_of(const World& world) {
  return world.scenario().workload.inference.phase == InferencePhase::both ? InferenceGoal::tokens
                                                                           : InferenceGoal::step;
}

Seconds step_time(const InferenceForecast& f) { return f.disaggregated ? f.disaggregated->decode : f.step.time; }
double tokens_per_gpu(const InferenceForecast& f) { return f.tokens_per_second / static_cast<double>(f.gpus); }

// prefill_rate is the smaller of the rate of prompts and that of transfers, so it equals the latter where transfers
// limit it. Senders are pairs of replicas, as in disaggregate of inference.cpp.
ServingLimit limit_of(const World& world, const DisaggregatedForecast& d) {
  if (d.decode_rate <= d.prefill_rate) return ServingLimit::decoding;
  const InferenceSpec& spec = world.scenario().workload.inference;
  const int replicas = std::min(spec.parallel.data, spec.disaggregated.prefill.parallel.data);
  return replicas / d.transfer.value <= d.prefill_rate ? ServingLimit::kv_transfer : ServingLimit::prompts;
}

// On shared GPUs, prompts are the limit if they take more than half of the time between tokens.
Seconds decoding_per_token(const InferenceForecast& f) {
  const World& world = f.world;
  return f.step.time / inference_of(world).speculation.tokens_per_step();
}

const TimedPasses& binding_passes(const InferenceForecast& f) {
  const World& world = f.world;
  if (goal_of(world) == InferenceGoal::step) return f.step;
  if (f.disaggregated)
    return limit_of(world, *f.disaggregated) == ServingLimit::decoding ? f.step : f.disaggregated->prompt;
  return decoding_per_token(f) < f.shared->inter_token.mean / 2 ? f.prompt : f.step;
}

InferenceBinding binding_of(const TimedPasses& passes) {
  InferenceBinding b;
  for (const InferenceLine& line : inference_lines(passes.mean))
    if (const Seconds time = line.time; time > b.time) {
      b.part = line.what;
      b.time = time;
    }
  for (const Part part : {Part::tensor, Part::expert, Part::pipeline}) {
    const auto p = static_cast<std::size_t>(part);
    // Both parts belong to communication: what the network takes, and the fixed cost per call that ranks spend waiting
    // for their slowest.
    const Seconds time = passes.mean.busy[p] + passes.mean.exposed[p];
    const CollectiveUse* use = longest_collective(passes.collectives, part);
    const bool own = part == Part::tensor && passes.own.time > (use ? use->time : Seconds{});
    if (time > b.exposed && (use || own)) {
      b.exposed = time;
      b.own = own;
      b.collective = own ? -1 : static_cast<int>(use - passes.collectives.data());
    }
  }
  return b;
}

namespace {

bool fits(const World& world) {
  const Scenario& s = world.scenario();
  return memory_faults(s.workload.inference, s.hardware, s.node.spec, s.nvlink_domain.nodes).empty();
}

}  // namespace

std::vector<InferenceWhatIf> what_would_help_inference(const InferenceForecast& forecast, const RunOptions& options) {
  const World& world = forecast.world;
  const InferenceGoal goal = goal_of(world);
  const Seconds step = step_time(forecast);
  const double tokens = tokens_per_gpu(forecast);
  // Trials run in parallel, so each gets one thread. Other batches are not forecast: no change is judged by them.
  const auto run = [&](const World& other, const Trial& trial) {
    RunOptions alone;
    alone.threads = 1;
    const InferenceForecast f = run_inference(other, alone, false);
    InferenceWhatIf w{trial.what, trial.set, step_time(f), tokens_per_gpu(f), 0, 0, whole_bytes(f.memory.total()),
                      fits(other)};
    w.more_tokens = w.tokens / tokens - 1;
    w.gain = goal == InferenceGoal::tokens ? w.more_tokens : 1 - w.step / step;
    return w;
  };
  // A change of at least `least_inference_gain` in either figure is kept, so that trades of step time for throughput
  // are reported for both goals.
  constexpr double part_of_trials = 0.7;
  auto found = run_trials<InferenceWhatIf>(
      world, inference_trials(forecast), part_of(options, 0, part_of_trials), run,
      [](const InferenceWhatIf& w) { return std::max(w.gain, w.more_tokens) >= least_inference_gain; });
  add_gain_intervals(world, step_time_of(forecast), found, part_of(options, part_of_trials, 1));
  return found;
}

}  // namespace fabricast
