#include <algorithm>
#include <mutex>
#include <optional>

#include "fabricast/core/parallel.hpp"
#include "fabricast/report/step_advice.hpp"

namespace fabricast {

namespace {

/// \returns nothing if the trial leaves the scenario as it is, or can not be made
std::optional<StepWhatIf> run_trial(const World& world, const std::string& effective, const Trial& trial,
                                    double before) {
  try {
    Scenario made = changed(world.scenario, effective, trial.set);
    if (to_yaml(made) == effective) return std::nullopt;
    const auto other = build_world(std::move(made));
    RunOptions alone;
    alone.threads = 1;
    const StepForecast f = run_step(*other, alone);
    return StepWhatIf{trial.what,           trial.set, f.seconds, 1 - f.seconds / before, f.memory.peak().total(),
                      f.memory.share() <= 1};
  } catch (const UserError&) {
    return std::nullopt;  // this scenario has no such key, or can not be changed in that way
  }
}

}  // namespace

std::vector<StepWhatIf> what_would_help_step(const World& world, const StepForecast& forecast,
                                             const RunOptions& options) {
  const std::vector<Alternatives> all = step_trials(world, forecast);
  const std::string effective = to_yaml(world.scenario);
  struct Task {
    std::size_t kind;
    const Trial* trial;
  };
  std::vector<Task> tasks;
  for (std::size_t k = 0; k < all.size(); ++k)
    for (const Trial& trial : all[k]) tasks.push_back({k, &trial});
  std::vector<std::optional<StepWhatIf>> outcomes(tasks.size());
  std::mutex mutex;
  std::size_t done = 0;
  in_parallel(tasks.size(), thread_count(options.threads), [&](std::size_t i) {
    outcomes[i] = run_trial(world, effective, *tasks[i].trial, forecast.seconds);
    if (!options.progress) return;
    const std::scoped_lock lock(mutex);
    options.progress(static_cast<double>(++done) / static_cast<double>(tasks.size()));
  });
  // Of alternatives the best that fits, and one that does not fit if it is better still. If the step itself does not
  // fit, what makes it fit is told at any price.
  std::vector<StepWhatIf> found;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const StepWhatIf *best = nullptr, *large = nullptr;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::optional<StepWhatIf>& w = outcomes[i];
      if (tasks[i].kind != k || !w) continue;
      const bool cures = forecast.memory.share() > 1 && w->fits;
      if (w->gain < least_step_gain && !cures) continue;
      const StepWhatIf*& place = w->fits ? best : large;
      if (!place || w->gain > place->gain) place = &*w;
    }
    if (best) found.push_back(*best);
    if (large && (!best || large->gain > best->gain)) found.push_back(*large);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const StepWhatIf& a, const StepWhatIf& b) { return a.gain > b.gain; });
  return found;
}

StepBinding binding_of(const StepForecast& f) {
  StepBinding b;
  const auto& stages = f.stages;
  for (std::size_t s = 1; s < stages.size(); ++s)
    if (stages[s].bubble < stages[b.stage].bubble) b.stage = s;
  b.waits = stages[b.stage].bubble;
  const double others = static_cast<double>(stages.size() - 1);
  if (others > 0) {
    for (std::size_t p = 0; p < parts; ++p) {
      double mean = 0;
      for (std::size_t s = 0; s < stages.size(); ++s)
        if (s != b.stage) mean += stages[s].busy[p] / others;
      if (const double more = stages[b.stage].busy[p] - mean; more > b.more)
        b.more = more, b.part = static_cast<Part>(p);
    }
    for (std::size_t s = 0; s < stages.size(); ++s)
      if (s != b.stage) b.others += stages[s].bubble / others;
  }
  const auto most = std::max_element(f.mean.exposed.begin(), f.mean.exposed.end());
  if (*most <= 0) return b;
  b.exposed = *most;
  const auto part = static_cast<Part>(most - f.mean.exposed.begin());
  for (std::size_t i = 0; i < f.exchanges.size(); ++i)
    if (f.exchanges[i].kind.part == part &&
        (b.exchange < 0 || f.exchanges[i].seconds > f.exchanges[static_cast<std::size_t>(b.exchange)].seconds))
      b.exchange = static_cast<int>(i);
  return b;
}

}  // namespace fabricast
