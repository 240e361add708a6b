#include "fabricast/report/interval.hpp"

#include <cmath>

#include "fabricast/core/parallel.hpp"
#include "fabricast/report/unstated.hpp"

namespace fabricast {

namespace {

/// Times of the rows' plans on other hardware, in the first draw of the network.
std::vector<double> times_with(const World& world, const Forecast& forecast, Hardware hardware) {
  Scenario scenario = world.scenario;
  scenario.hardware = std::move(hardware);
  const auto other = build_world(std::move(scenario), &world.planner.graphs);
  other->setup.times_only = true, other->draws.count = 1;
  if (connects_alike(other->setup, world.setup)) other->setup.counts = world.setup.counts;
  other->beside = world.beside;
  std::vector<Plan> plans;
  for (const ForecastRow& row : forecast.rows) plans.push_back(row.plan);
  RunOptions options;
  options.threads = 1;
  std::vector<double> times;
  for (const ForecastRow& row : run_plans(*other, std::move(plans), options).rows) times.push_back(row.time);
  return times;
}

}  // namespace

int interval_draws(const World& world) {
  constexpr std::int64_t many_ranks = 1 << 12;
  return world.planner.comm.ranks() > many_ranks ? 4 : 16;
}

void add_intervals(const World& world, Forecast& forecast, int draws, const RunOptions& options) {
  add_unstated(world, forecast, options);
  const auto count = static_cast<std::size_t>(draws);
  // The last task is the hardware as it is.
  std::vector<std::vector<double>> times(count + 1);
  TaskProgress progress(options.progress, count + 1);
  in_parallel(count + 1, thread_count(options.threads), [&](std::size_t d) {
    if (d < count || forecast.draws > 1)
      times[d] =
          times_with(world, forecast, d < count ? drawn_hardware(world.scenario.hardware, d) : world.scenario.hardware);
    else
      for (const ForecastRow& row : forecast.rows) times[d].push_back(row.time);
    progress.one_done();
  });
  for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
    double squares = 0;
    for (std::size_t d = 0; d < count; ++d) squares += std::pow(std::log(times[d][i] / times[count][i]), 2);
    const double spread = world.scenario.hardware.spread.at(forecast.rows[i].bytes).value;
    forecast.rows[i].input_spread = std::hypot(std::sqrt(squares / draws), unstated_spread(forecast, i));
    forecast.rows[i].factor = std::exp(quantile_95 * std::hypot(forecast.rows[i].input_spread, spread));
  }
}

}  // namespace fabricast
