// Forecasts with other values of unstated inputs (report/unstated.hpp). scenario/unstated.cpp says which inputs are
// open and how probable their other values are; residual_rows.cpp takes the ratios into the interval.
//
// Inputs are varied one at a time and count as independent: tests/unit/report/unstated_test.cpp compares this with all
// combinations (docs/models/intervals.md).
#include "fabricast/report/unstated.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"

namespace fabricast {

namespace {

/// Times of all sizes; empty if NCCL would stop with an error.
std::vector<Seconds> times_of(const World& world, Scenario scenario, const Rerun& rerun) {
  std::vector<Seconds> times;
  try {
    // Most inputs change choices, not paths, so counts on links can be shared.
    const World other = build_world(std::move(scenario))
                            .with_counts_of(world)
                            .with_samples(world.with_samples_up_to(unstated_samples).samples())
                            .with_beside(world.beside())
                            .with_times_only();
    const Forecast forecast = rerun ? rerun(other) : run_forecast(other, one_thread);
    for (const ForecastRow& row : forecast.rows) times.push_back(row.time);
    // E.g. a version of NCCL that does not know the scenario's GPU. The ratio stays 1: such a machine cannot exist.
  } catch (const UserError&) { times.clear(); }
  return times;
}

}  // namespace

void add_unstated(Forecast& forecast, const RunOptions& options, const Rerun& rerun) {
  const World& world = forecast.world;
  forecast.unstated.clear();
  for (UnstatedInput& input : unstated_inputs(world.scenario())) forecast.unstated.push_back({std::move(input), {}});
  struct Task {
    std::size_t input, other;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < forecast.unstated.size(); ++i) {
    UnstatedEffect& effect = forecast.unstated[i];
    effect.ratios.assign(effect.input.others.size(), std::vector<double>(forecast.rows.size(), 1));
    for (std::size_t k = 0; k < effect.input.others.size(); ++k) tasks.push_back({i, k});
  }
  if (tasks.empty()) return;
  // The last task is the scenario itself. It is needed if the rows are medians over more samples than the trials have.
  const bool more_samples = forecast.samples > unstated_samples;
  std::vector<std::vector<Seconds>> times(tasks.size() + 1);
  in_parallel(tasks.size() + (more_samples ? 1 : 0), thread_count(options.threads), [&](std::size_t t) {
    if (t == tasks.size()) {
      times[t] = times_of(world, world.scenario(), rerun);
      return;
    }
    const UnstatedInput& input = forecast.unstated[tasks[t].input].input;
    times[t] = times_of(world, with_input(world.scenario(), input.key, input.others[tasks[t].other].value), rerun);
  });
  if (!more_samples)
    for (const ForecastRow& row : forecast.rows) times.back().push_back(row.time);
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (std::size_t r = 0; r < std::min(times[t].size(), times.back().size()); ++r)
      forecast.unstated[tasks[t].input].ratios[tasks[t].other][r] = times[t][r] / times.back()[r];
}

//     sqrt( sum_k p_k ln(ratio_k)^2 ),     p_k: probability of the k-th other value
double spread_of(const UnstatedEffect& effect, std::size_t row) {
  double squares = 0;
  for (std::size_t k = 0; k < effect.ratios.size(); ++k)
    squares += effect.input.others[k].weight * std::pow(std::log(effect.ratios[k][row]), 2);
  return std::sqrt(squares);
}

// Independent inputs add in squares.
double unstated_spread(const Forecast& forecast, std::size_t row) {
  double squares = 0;
  for (const UnstatedEffect& effect : forecast.unstated) squares += std::pow(spread_of(effect, row), 2);
  return std::sqrt(squares);
}

const UnstatedEffect* largest_effect(const Forecast& forecast, double least) {
  const UnstatedEffect* most = nullptr;
  for (const UnstatedEffect& effect : forecast.unstated)
    for (std::size_t row = 0; row < forecast.rows.size(); ++row)
      if (const double spread = spread_of(effect, row); spread >= least) {
        most = &effect;
        least = spread;
      }
  return most;
}

std::string assumed_text(const Forecast& forecast) {
  if (!largest_effect(forecast)) return {};
  std::vector<std::string> assumed;
  for (const UnstatedEffect& effect : forecast.unstated)
    assumed.push_back(fmt::format("{} {}", effect.input.key, effect.input.assumed));
  return fmt::format("{}", fmt::join(assumed, ", "));
}

}  // namespace fabricast
