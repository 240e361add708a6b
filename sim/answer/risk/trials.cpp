// Runs the workload of a scenario with links degraded or down (trials.hpp).
//
// Other jobs of the scenario are left out: both the healthy time and that with a failure are those of the job alone.
#include "trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

namespace {

/// Computation time of the busiest stage, s.
/// Slowing a host down lengthens computation and what interferes with it, not collectives.
double busiest(const std::vector<ActorTimes>& stages) {
  Seconds most;
  for (const ActorTimes& s : stages)
    most = std::max(most, std::accumulate(s.busy.begin(), s.busy.end(), Seconds{}) + s.interference);
  return most.value;
}

Timed time_of(const World& world) {
  RunOptions alone;
  alone.threads = 1;
  switch (world.scenario().workload.kind) {
    case WorkloadKind::training_step: {
      const StepForecast step = run_step(world, step_of(world), alone, 1);
      return {step.time.value, busiest(step.stages)};
    }
    case WorkloadKind::trace: {
      const StepForecast step = run_trace(world, alone);
      return {step.time.value, busiest(step.stages)};
    }
    case WorkloadKind::inference: {
      const InferenceForecast serving = run_inference(world, alone, false);
      return {serving.step.time.value, busiest(serving.step.stages)};
    }
    case WorkloadKind::collective: break;
  }
  return {run_forecast(world, alone).rows.back().time.value, 0};
}

/// Of a collective only the largest size is timed: failures of links affect bandwidth.
World one_size(const World& world) {
  if (world.scenario().workload.kind != WorkloadKind::collective) return world;
  Scenario scenario = world.scenario();
  set_sizes(scenario, {scenario.sizes().back()});
  return build_world(std::move(scenario));
}

}  // namespace

Trials::Trials(const World& world) : world_(one_size(world).with_beside({})) {}

std::string Trials::what() const {
  const WorkloadSection& w = world_.scenario().workload;
  if (w.kind == WorkloadKind::training_step) return "training step";
  if (w.kind == WorkloadKind::trace) return "traced step";
  if (w.kind == WorkloadKind::inference) return w.inference.phase == InferencePhase::prefill ? "prompt" : "decode step";
  return fmt::format("{} of {}", name_of(w.collective), to_text(Bytes{world_.scenario().sizes().back()}));
}

std::optional<Timed> Trials::run(int network_sample, std::span<const LinkId> links, double left) const {
  const World healthy =
      world_.with_samples({world_.samples().first_seed + static_cast<std::uint64_t>(network_sample), 1});
  if (links.empty()) return time_of(healthy);
  Fault fault;
  fault.target = "failed component";
  fault.rate = left;
  fault.links.assign(links.begin(), links.end());
  // The failure holds in all segments, on top of the scenario's faults; the lower rate counts.
  std::vector<NetworkSegment> segments = healthy.setup().segments;
  for (NetworkSegment& segment : segments) {
    for (const LinkId l : links) segment.links.set(l, std::min(left, segment.links.factor(l.value)));
    segment.faults.push_back(fault);
  }
  try {
    return time_of(healthy.with_segments(std::move(segments)));
  } catch (const UserError& e) {
    // The healthy job ran, so this fault cuts its network.
    if (std::all_of(e.diagnostics().begin(), e.diagnostics().end(),
                    [](const Diagnostic& d) { return d.path == "faults"; }))
      return std::nullopt;
    throw;
  }
}

}  // namespace fabricast
