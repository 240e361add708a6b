// What limits a training step, and which changes help (report/step_advice.hpp). settings.cpp has the list of
// changes, explain.cpp the text.
#include <algorithm>

#include "fabricast/report/samples.hpp"
#include "fabricast/report/step_advice.hpp"
#include "fabricast/scenario/lossy.hpp"
#include "step_time.hpp"
#include "trials.hpp"

namespace fabricast {

namespace {

/// The time by which changes are judged: the median over samples, or the mean where packets are lost. Timeouts are rare,
/// so that a median does not see them.
Seconds judged(const StepForecast& f, bool by_mean) {
  return by_mean && !f.sample_times.empty() ? mean_of_samples(f.sample_times) : f.time;
}

}  // namespace

std::vector<StepWhatIf> what_would_help_step(const StepForecast& forecast, const RunOptions& options) {
  const World& world = forecast.world;
  const bool by_mean = is_lossy(world.scenario().fabric.congestion);
  const Seconds before = judged(forecast, by_mean);
  const auto run = [&](const World& other, const Trial& trial) {
    RunOptions alone;
    alone.threads = 1;
    const StepForecast f = run_step(other, alone);
    const Seconds after = judged(f, by_mean);
    return StepWhatIf{trial.what,           trial.set, after, 1 - after / before, whole_bytes(f.memory.peak().total()),
                      f.memory.share() <= 1};
  };
  // If the step itself does not fit, changes that make it fit are reported whatever they cost.
  const bool large = forecast.memory.share() > 1;
  constexpr double part_of_trials = 0.7;
  auto found =
      run_trials<StepWhatIf>(world, step_trials(forecast), part_of(options, 0, part_of_trials), run,
                             [&](const StepWhatIf& w) { return w.gain >= least_step_gain || (large && w.fits); });
  add_gain_intervals(world, step_time_of(forecast), found, part_of(options, part_of_trials, 1));
  return found;
}

// Stages wait for the one that waits least, so that one limits the step. The component of which it has most more than
// the mean of the others is the reason, e.g. the vocabulary of the last stage. Independently of stages, the kind of
// parallelism with the longest exposed time limits what a faster network could gain.
StepBinding binding_of(const StepForecast& f) {
  StepBinding b;
  const auto& stages = f.stages;
  for (std::size_t s = 1; s < stages.size(); ++s)
    if (stages[s].bubble < stages[b.stage].bubble) b.stage = s;
  b.waits = stages[b.stage].bubble;
  const double others = static_cast<double>(stages.size() - 1);
  if (others > 0) {
    for (std::size_t p = 0; p < part_count; ++p) {
      Seconds mean;
      for (std::size_t s = 0; s < stages.size(); ++s)
        if (s != b.stage) mean += stages[s].busy[p] / others;
      if (const Seconds more = stages[b.stage].busy[p] - mean; more > b.more) {
        b.more = more;
        b.part = static_cast<Part>(p);
      }
    }
    for (std::size_t s = 0; s < stages.size(); ++s)
      if (s != b.stage) b.others += stages[s].bubble / others;
  }
  const auto most = std::max_element(f.mean.exposed.begin(), f.mean.exposed.end());
  if (*most <= Seconds{}) return b;
  b.exposed = *most;
  if (const auto* use = longest_collective(f.collectives, static_cast<Part>(most - f.mean.exposed.begin())))
    b.collective = static_cast<int>(use - f.collectives.data());
  return b;
}

}  // namespace fabricast
