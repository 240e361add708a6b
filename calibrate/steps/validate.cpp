// Forecasts of measured steps with intervals, and their errors by source. The interval has two parts, added in squares
// of logarithms: what the posterior samples of the parameters change, and the spread of the model
// (report/step_interval.hpp).
#include <algorithm>
#include <cmath>

#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/step_interval.hpp"

namespace fabricast {

namespace {

/// Half the samples of a forecast. Counting rows in intervals does not need a more exact factor.
constexpr std::size_t validated_samples = step_samples / 2;

}  // namespace

StepRow step_row(const StepCase& step, StepRunner& runner, const Hardware& hardware) {
  StepRow row;
  row.id = step.id;
  row.source = step.source;
  row.measured = step.measured;
  row.forecast = runner.time(hardware);
  row.held_out = step.held_out;
  row.experts = runner.experts();
  std::vector<Seconds> times;
  for (std::size_t d = 0; d < validated_samples; ++d) times.push_back(runner.time(sampled_hardware(hardware, d)));
  // Without the spread: the part of the parameters alone, from which step_spread.cpp learns the rest.
  row.deviation = std::log(interval_factor(row.forecast, times, 0)) / quantile_95;
  row.factor = interval_factor(row.forecast, times, runner.spread(hardware));
  return row;
}

StepValidation validate_steps(const std::vector<StepCase>& steps, const Hardware& hardware,
                              const std::function<void(double)>& progress) {
  StepValidation v;
  v.rows.resize(steps.size());
  TaskProgress tasks(progress, steps.size());
  in_parallel(steps.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    const StepCase& c = steps[i];
    StepRunner runner(c);
    v.rows[i] = step_row(c, runner, hardware);
    tasks.one_done();
  });
  return v;
}

std::vector<StepSummary> summarize(const std::vector<StepRow>& rows, bool held_out) {
  std::vector<StepSummary> list;
  for (const StepRow& row : rows) {
    if (row.held_out != held_out) continue;
    auto it = std::find_if(list.begin(), list.end(), [&](const StepSummary& s) { return s.source == row.source; });
    if (it == list.end()) it = list.insert(it, {row.source});
    ++it->rows;
    it->within += row.within();
    it->mean += std::abs(row.error());
    it->bias += row.error();
    if (std::abs(row.error()) > std::abs(it->worst)) it->worst = row.error();
  }
  for (StepSummary& s : list) {
    s.mean /= static_cast<double>(s.rows);
    s.bias /= static_cast<double>(s.rows);
  }
  return list;
}

StepSummary mean_over_sources(const std::vector<StepRow>& rows, bool experts) {
  std::vector<StepRow> mine;
  for (const StepRow& row : rows)
    if (row.experts == experts) mine.push_back(row);
  StepSummary mean;
  const std::vector<StepSummary> sources = summarize(mine);
  for (const StepSummary& s : sources) {
    mean.rows += s.rows;
    mean.within += s.within;
    const auto n = static_cast<double>(sources.size());
    mean.mean += s.mean / n;
    mean.bias += s.bias / n;
    if (std::abs(s.worst) > std::abs(mean.worst)) mean.worst = s.worst;
  }
  return mean;
}

}  // namespace fabricast
