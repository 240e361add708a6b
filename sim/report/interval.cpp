#include "fabricast/report/interval.hpp"

#include <cmath>

namespace fabricast {

namespace {

/// Times of the rows' plans on other hardware, in the first draw of the network.
std::vector<double> times_with(const World& world, const Forecast& forecast, Hardware hardware,
                               const RunOptions& options) {
  Scenario scenario = world.scenario;
  scenario.hardware = std::move(hardware);
  const auto other = build_world(std::move(scenario), &world.planner.graphs);
  other->setup.times_only = true, other->draws.count = 1;
  std::vector<Plan> plans;
  for (const ForecastRow& row : forecast.rows) plans.push_back(row.plan);
  std::vector<double> times;
  for (const ForecastRow& row : run_plans(*other, std::move(plans), options).rows) times.push_back(row.time);
  return times;
}

}  // namespace

int interval_draws(const World& world) {
  constexpr std::int64_t many_ranks = 1 << 14;
  return world.planner.comm.ranks() > many_ranks ? 4 : 16;
}

void add_intervals(const World& world, Forecast& forecast, int draws, const RunOptions& options) {
  constexpr double quantile_95 = 1.645;
  const auto part = [&](int i) {
    return part_of(options, static_cast<double>(i) / (draws + 1), static_cast<double>(i + 1) / (draws + 1));
  };
  std::vector<double> base(forecast.rows.size()), squares(forecast.rows.size());
  if (forecast.draws == 1)
    for (std::size_t i = 0; i < base.size(); ++i) base[i] = forecast.rows[i].time;
  else
    base = times_with(world, forecast, world.scenario.hardware, part(0));
  for (int d = 0; d < draws; ++d) {
    const std::vector<double> times =
        times_with(world, forecast, drawn_hardware(world.scenario.hardware, static_cast<std::size_t>(d)), part(d + 1));
    for (std::size_t i = 0; i < times.size(); ++i) squares[i] += std::pow(std::log(times[i] / base[i]), 2) / draws;
  }
  for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
    const double spread = world.scenario.hardware.spread.at(forecast.rows[i].bytes).value;
    forecast.rows[i].factor = std::exp(quantile_95 * std::hypot(std::sqrt(squares[i]), spread));
  }
}

}  // namespace fabricast
