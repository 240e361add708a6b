// Which settings of NCCL shorten a step: a greedy search (report/step_settings.hpp).
//
// Greedy, because settings interact: fewer channels with larger buffers gain less than the sum. Each round starts from
// the scenario with all settings that were taken. Of the candidates, only those that might be taken get an interval,
// which costs two dozen runs.
#include <algorithm>
#include <optional>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/step_advice.hpp"
#include "step_time.hpp"

namespace fabricast {

namespace {

/// A change that was run.
struct Tried {
  std::size_t kind = 0;
  Trial trial;
  World world;
  StepTime time;
};

bool has_variable(const std::vector<StepSetting>& settings, const std::vector<Variable>& variables) {
  for (const StepSetting& s : settings)
    for (const Variable& v : s.variables)
      for (const Variable& other : variables)
        if (v.name == other.name) return true;
  return false;
}

/// Runs all changes that apply and set no variable again. \returns those that gain enough, in descending order
std::vector<Tried> try_all(const World& world, const StepTime& before, const std::vector<StepSetting>& taken,
                           const RunOptions& options) {
  std::vector<Tried> tasks;
  const std::vector<Alternatives> all = nccl_trials(world, before);
  for (std::size_t k = 0; k < all.size(); ++k)
    for (const Trial& trial : all[k]) tasks.push_back({k, trial, {}, {}});
  const ScenarioChanges changes(world.scenario());
  std::vector<char> ran(tasks.size());
  TaskProgress progress(options.progress, tasks.size());
  in_parallel(tasks.size(), thread_count(options.threads), [&](std::size_t i) {
    stop_if_requested();
    try {
      Scenario made = changes.with(tasks[i].trial.set);
      if (changes.differs(made) && !has_variable(taken, changed_variables(world.scenario(), made))) {
        tasks[i].world = build_world(std::move(made), world.searches());
        tasks[i].time = step_time_of(tasks[i].world, one_thread);
        ran[i] = 1;
      }
    } catch (const UserError&) {
      // NCCL does not accept the value here.
    }
    progress.one_done();
  });
  std::vector<Tried> found;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (ran[i] && 1 - tasks[i].time.time / before.time >= least_step_gain) found.push_back(std::move(tasks[i]));
  std::stable_sort(found.begin(), found.end(),
                   [](const Tried& a, const Tried& b) { return a.time.time < b.time.time; });
  return found;
}

StepSetting setting_of(const SampledStep& before, const SampledStep& after, const Trial& trial) {
  return {trial.what,
          trial.set,
          changed_variables(before.world.scenario(), after.world.scenario()),
          after.time,
          buffers_of(after.world, after.time),
          gain_interval(before, after)};
}

}  // namespace

StepSettings step_settings(const World& world, const RunOptions& options) {
  require_step(world);
  StepSettings found;
  found.world = world;
  found.before = step_time_of(world, part_of(options, 0, 0.05));
  found.buffers = buffers_of(world, found.before);
  const SampledStep first = sampled_step(world, found.before, part_of(options, 0.05, 0.15));
  SampledStep now = first;
  // The number of rounds is not known in advance. Each takes half of the remaining progress.
  for (double done = 0.15;; done += (1 - done) / 2) {
    const double middle = done + (1 - done) / 4;
    const std::vector<Tried> tried = try_all(now.world, now.time, found.taken, part_of(options, done, middle));
    found.unsure.clear();
    std::optional<SampledStep> best;
    std::vector<std::size_t> kinds;  // that have an interval: of a kind, only the change that gains most is a candidate
    for (const Tried& t : tried) {
      if (best) break;
      if (std::find(kinds.begin(), kinds.end(), t.kind) != kinds.end()) continue;
      kinds.push_back(t.kind);
      SampledStep after = sampled_step(t.world, t.time, {options.threads, {}});
      StepSetting setting = setting_of(now, after, t.trial);
      const bool certain = setting.gain[0] > 0;
      (certain ? found.taken : found.unsure).push_back(std::move(setting));
      if (certain) best = std::move(after);
    }
    if (!best) break;
    now = std::move(*best);
  }
  if (options.progress) options.progress(1);
  found.after = now.time;
  found.gain = gain_interval(first, now);
  return found;
}

}  // namespace fabricast
