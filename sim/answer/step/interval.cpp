// The 90 % interval of a training step: factor = exp(1.645 sqrt(s_parameters^2 + s_model^2)) (report/step_interval.hpp
// and docs/models/intervals.md).
//
// s_parameters is a Monte Carlo estimate: the step runs again with posterior samples of the parameters
// (models/hardware/sample.cpp). 16 samples of GPU and software share 4 samples of the network, because timing
// collectives anew for each would take most of the time. s_model is data of the stack.
#include "fabricast/report/step_interval.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/validated.hpp"
#include "fabricast/traffic/flow_traffic.hpp"

namespace fabricast {

namespace {

/// Number of posterior samples of the network. Each serves several samples of GPU and software, because most steps
/// depend less on the network.
constexpr std::size_t networks = 4;

// The program depends on the sampled parameters too: durations of kernels, and what overlaps.
Seconds time_of(const TrainingStep& step, Traffic& traffic) {
  const Program program = training_program(step);
  return Seconds{run_program(program, traffic, timeline_options(step.stack.interference.value, program, traffic)).time};
}

}  // namespace

TrainingStep step_with(const Scenario& scenario, const Hardware& hardware) {
  TrainingSpec spec = scenario.workload.training;
  // The fixed time per step was filled in from the stack when the scenario was read, so it must follow the new
  // hardware.
  if (spec.fixed.value == scenario.hardware->stack(spec.stack).step_fixed.value)
    spec.fixed.value = hardware.stack(spec.stack).step_fixed.value;
  return training_step(spec, scenario.node.spec, hardware, nvlink_ranks(scenario));
}

// Deviations are taken around the forecast, not around their own mean: a bias of the samples counts as error.
double interval_factor(Seconds forecast, const std::vector<Seconds>& samples, double spread) {
  double squares = 0;
  for (const Seconds t : samples) squares += std::pow(std::log(t / forecast), 2);
  const double parameters = std::sqrt(squares / static_cast<double>(samples.size()));
  return std::exp(quantile_95 * std::hypot(parameters, spread));
}

// A fit of few steps leaves small residuals. The second term is what steps of software that no fit has seen deviate by,
// so an interval cannot become narrower than experience justifies.
double spread_of_steps(const World& world, const Hardware& hardware) {
  const std::string& stack = world.scenario().workload.training.stack;
  const bool experts = step_of(world).model.experts > 0;
  const double unvalidated = not_validated(world.scenario()).empty() ? 1 : hardware.step_spread.unvalidated.value;
  return unvalidated * std::max(hardware.stack(stack).spread.value, hardware.step_spread.of(experts).value);
}

void add_interval(StepForecast& forecast, const RunOptions& options) {
  const World& world = forecast.world;
  const Scenario& base = world.scenario();
  std::vector<Seconds> times(step_samples);
  const VariationSpec& variation = base.workload.training.variation;
  // The sampled steps are compared with a step on the first sample of the network without slow hosts. The forecast may
  // be that step already.
  const bool known = forecast.samples == 1 && variation.slow_hosts.value == 0 && variation.jitter.value == 0;
  // A world per sample of the network's parameters, with the same placement, faults and other jobs.
  std::vector<World> worlds(networks);
  const std::size_t threads = thread_count(options.threads);
  in_parallel(networks, threads, [&](std::size_t n) {
    Scenario scenario = base;
    scenario.hardware = sampled_hardware(base.hardware, n);
    worlds[n] = build_world(std::move(scenario)).with_beside(world.beside());
  });
  if (!known) worlds.push_back(world);
  const auto traffics = make_flow_traffics(worlds, forecast.program, world.samples().first_seed, threads);
  Seconds nominal = forecast.time;
  in_parallel(traffics.size(), threads, [&](std::size_t n) {
    if (n == networks) {  // with unchanged parameters
      nominal = time_of(step_of(world), *traffics[n]);
      return;
    }
    // The d-th sample of GPU and software meets sample d mod 4 of the network. Samples of one fit belong together by
    // their number, but parameters of collectives and of steps come from separate fits, so the pairing is free.
    for (std::size_t d = n; d < step_samples; d += networks) {
      stop_if_requested();
      times[d] = time_of(step_with(base, sampled_hardware(base.hardware, d)), *traffics[n]);
    }
  });
  forecast.factor = interval_factor(nominal, times, spread_of_steps(world, base.hardware));
}

}  // namespace fabricast
