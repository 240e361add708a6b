#include "fabricast/report/step_interval.hpp"

#include <cmath>
#include <memory>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/step/flow_traffic.hpp"

namespace fabricast {

namespace {

/// Networks that are drawn; each serves several draws of GPU and software, as most steps feel it less.
constexpr std::size_t networks = 4;

double seconds_of(const TrainingStep& step, Traffic& traffic) {
  const Program program = training_program(step);
  return run_program(program, traffic, timeline_options(step.stack.interference.value, program, traffic)).seconds;
}

}  // namespace

TrainingStep step_with(const Scenario& scenario, const Hardware& hardware) {
  TrainingSpec spec = scenario.workload.training;
  // What the software spends per step was filled in when the scenario was read.
  if (spec.fixed.value == scenario.hardware.stacks.at(spec.stack).step_fixed.value)
    spec.fixed.value = hardware.stacks.at(spec.stack).step_fixed.value;
  return training_step(spec, scenario.node.spec, hardware);
}

double interval_factor(double forecast, const std::vector<double>& seconds, double spread) {
  double squares = 0;
  for (const double s : seconds) squares += std::pow(std::log(s / forecast), 2);
  const double parameters = std::sqrt(squares / static_cast<double>(seconds.size()));
  return std::exp(quantile_95 * std::hypot(parameters, spread));
}

void add_interval(const World& world, StepForecast& forecast, const RunOptions& options) {
  const Scenario& base = world.scenario;
  std::vector<double> seconds(step_draws);
  const VariationSpec& variation = base.workload.training.variation;
  // A forecast of one draw, without slow hosts, is what the draws are held against.
  const bool known = forecast.draws == 1 && variation.slow_hosts.value == 0 && variation.jitter.value == 0;
  double nominal = forecast.seconds;
  // The last task is the hardware as it is.
  in_parallel(networks + (known ? 0 : 1), thread_count(options.threads), [&](std::size_t n) {
    if (n == networks) {
      const auto traffic = make_flow_traffic(world, forecast.program, world.draws.first_seed);
      nominal = seconds_of(step_of(world), *traffic);
      return;
    }
    Scenario scenario = base;
    scenario.hardware = drawn_hardware(base.hardware, n);
    const auto drawn = build_world(std::move(scenario), &world.planner.graphs);
    drawn->beside = world.beside;
    const auto traffic = make_flow_traffic(*drawn, forecast.program, drawn->draws.first_seed);
    for (std::size_t d = n; d < step_draws; d += networks) {
      stop_if_requested();
      seconds[d] = seconds_of(step_with(base, drawn_hardware(base.hardware, d)), *traffic);
    }
  });
  forecast.factor =
      interval_factor(nominal, seconds, base.hardware.stacks.at(base.workload.training.stack).spread.value);
}

}  // namespace fabricast
