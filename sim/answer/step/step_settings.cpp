// Which settings of NCCL shorten a step: a greedy search (report/step_settings.hpp).
//
// Greedy, because settings interact: fewer channels with larger buffers gain less than the sum. Each round starts from
// the scenario with all settings that were taken. Of the candidates, only those that might be taken get an interval,
// which costs two dozen runs.
#include <fmt/format.h>

#include <optional>

#include "fabricast/report/step_advice.hpp"
#include "step_time.hpp"
#include "trials.hpp"

namespace fabricast {

namespace {

/// A change that was run.
struct Tried {
  Trial trial;
  World world;
  StepTime time;
  double gain = 0;
  bool fits = true;  ///< settings of NCCL do not change what must fit
};

bool has_variable(const std::vector<StepSetting>& settings, const Trial& trial) {
  for (const StepSetting& s : settings)
    for (const Variable& v : s.variables)
      for (const std::string& word : trial.set)
        if (word.starts_with(fmt::format("nccl.env.{}=", v.name))) return true;
  return false;
}

/// The best change of each kind that gains enough and sets no variable again, in descending order of the gain.
std::vector<Tried> try_all(const World& world, const StepTime& before, const std::vector<StepSetting>& taken,
                           const RunOptions& options) {
  std::vector<Alternatives> all = nccl_trials(world, before);
  for (Alternatives& list : all) std::erase_if(list, [&](const Trial& t) { return has_variable(taken, t); });
  const auto run = [&](const World& other, const Trial& trial) {
    StepTime time = step_time_of(other, one_thread);
    const double gain = 1 - time.time / before.time;
    return Tried{trial, other, std::move(time), gain};
  };
  return run_trials<Tried>(world, all, options, run, [](const Tried& t) { return t.gain >= least_step_gain; });
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
    for (const Tried& t : tried) {
      if (best) break;
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
