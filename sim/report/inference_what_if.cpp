#include <algorithm>

#include "fabricast/core/names.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "inference_parts.hpp"
#include "step_trials.hpp"

namespace fabricast {

InferenceGoal goal_of(const World& world) {
  return world.scenario.workload.inference.phase == InferencePhase::both ? InferenceGoal::tokens : InferenceGoal::step;
}

double step_seconds(const InferenceForecast& f) { return f.disaggregated ? f.disaggregated->decode : f.step.seconds; }
double tokens_per_gpu(const InferenceForecast& f) { return f.tokens_per_second / static_cast<double>(f.gpus); }

ServingLimit limit_of(const World& world, const DisaggregatedForecast& d) {
  if (d.decode_rate <= d.prefill_rate) return ServingLimit::decoding;
  const InferenceSpec& spec = world.scenario.workload.inference;
  const int replicas = std::min(spec.parallel.data, spec.disaggregated.prefill.parallel.data);
  return replicas / d.transfer <= d.prefill_rate ? ServingLimit::kv_transfer : ServingLimit::prompts;
}

const TimedPasses& binding_passes(const World& world, const InferenceForecast& f) {
  if (goal_of(world) == InferenceGoal::step) return f.step;
  if (f.disaggregated)
    return limit_of(world, *f.disaggregated) == ServingLimit::decoding ? f.step : f.disaggregated->prompt;
  return f.step.seconds < f.shared->inter_token.mean / 2 ? f.prompt : f.step;
}

InferenceBinding binding_of(const TimedPasses& passes) {
  InferenceBinding b;
  for (const InferenceLine& line : inference_lines(passes.mean))
    if (line.seconds > b.seconds) b.part = line.what, b.seconds = line.seconds;
  for (const Part part : {Part::tensor, Part::expert, Part::pipeline}) {
    const auto p = static_cast<std::size_t>(part);
    const double seconds = passes.mean.busy[p] + passes.mean.exposed[p];
    const CollectiveUse* use = longest_collective(passes.collectives, part);
    if (seconds > b.exposed && use)
      b.exposed = seconds, b.collective = static_cast<int>(use - passes.collectives.data());
  }
  return b;
}

namespace {

bool fits(const World& world) {
  const Scenario& s = world.scenario;
  return memory_faults(s.workload.inference, s.hardware, s.node.spec, s.nvlink_domain.nodes).empty();
}

}  // namespace

std::vector<InferenceWhatIf> what_would_help_inference(const World& world, const InferenceForecast& forecast,
                                                       const RunOptions& options) {
  const InferenceGoal goal = goal_of(world);
  const double step = step_seconds(forecast), tokens = tokens_per_gpu(forecast);
  const auto run = [&](const World& other, const Trial& trial) {
    RunOptions alone;
    alone.threads = 1;
    const InferenceForecast f = run_inference(other, alone, false);
    InferenceWhatIf w{trial.what, trial.set, step_seconds(f), tokens_per_gpu(f), 0, 0, f.memory.total(), fits(other)};
    w.more_tokens = w.tokens / tokens - 1;
    w.gain = goal == InferenceGoal::tokens ? w.more_tokens : 1 - w.step / step;
    return w;
  };
  return run_trials<InferenceWhatIf>(
      world, inference_trials(world, forecast), options, run,
      [](const InferenceWhatIf& w) { return std::max(w.gain, w.more_tokens) >= least_inference_gain; });
}

}  // namespace fabricast
