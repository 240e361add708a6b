// Shared by the files of step settings: forecasts that were already made, as the figure by which settings are judged.
#pragma once

#include <algorithm>

#include "fabricast/report/inference.hpp"
#include "fabricast/report/step_settings.hpp"

namespace fabricast {

/// \throws UserError if the workload has no step whose settings can be judged, or another engine than flow
void require_step(const World& world);

StepTime step_time_of(const StepForecast& forecast);
StepTime step_time_of(const InferenceForecast& forecast);

/// "collectives keep 7.2 of 132 SMs on average; their NCCL buffers take 1.20 GiB per GPU"
std::string resources_text(const World& world, const StepTime& time, Bytes buffers);

/// Sets `interval` of those changes that only set variables of NCCL.
/// \param W  a StepWhatIf or an InferenceWhatIf
template <class W>
void add_gain_intervals(const World& world, const StepTime& time, std::vector<W>& found, const RunOptions& options) {
  const auto is_setting = [](const W& w) { return is_nccl_setting({w.what, w.set}); };
  const auto count = static_cast<double>(std::count_if(found.begin(), found.end(), is_setting));
  if (count == 0) return;
  const ScenarioChanges changes(world.scenario());
  const SampledStep before = sampled_step(world, time, part_of(options, 0, 1 / (count + 1)));
  double done = 1;
  for (W& w : found) {
    if (!is_setting(w)) continue;
    const World after = build_world(changes.with(w.set));
    const RunOptions part = part_of(options, done / (count + 1), (done + 1) / (count + 1));
    w.interval = gain_interval(before, sampled_step(after, step_time_of(after, {options.threads, {}}), part));
    ++done;
  }
}

}  // namespace fabricast
