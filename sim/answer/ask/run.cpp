// How long it takes: each kind of workload has a forecast, writers and a page of its own.
#include <array>

#include "fabricast/ask/ask.hpp"
#include "fabricast/jobs/others.hpp"
#include "fabricast/page/report_page.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/step_interval.hpp"
#include "fabricast/report/versions.hpp"
#include "forecast_parts.hpp"
#include "forms.hpp"

namespace fabricast {

Forecast forecast_all_versions(const World& world, const RunOptions& how) {
  Forecast forecast = run_forecast(world, how);
  forecast_versions(forecast, how);
  return forecast;
}

namespace {

/// A forecast, with intervals for the flow engine. The bound engine gives no time to put an interval on, and the chunk
/// engine would take minutes.
Forecast forecast_with_intervals(const World& world, const MeasuredSite& site, const RunOptions& how, bool intervals) {
  if ((!intervals && site.rows.empty()) || world.scenario().network.engine != EngineKind::flow)
    return forecast_all_versions(world, how);
  constexpr double own_part = 0.3;
  Forecast forecast = forecast_all_versions(world, part_of(how, 0, own_part));
  add_intervals(forecast, site, part_of(how, own_part, 1));
  return forecast;
}

Answer run_collective(const World& world, const MeasuredSite& site, bool intervals, const RunOptions& how) {
  return answer_with<Forecast>(forecast_with_intervals(world, site, how, intervals),
                               {{"json", forecast_json}, {"csv", forecast_csv}, {"text", forecast_text}},
                               collective_page);
}

Answer answer_of_step(StepForecast step) {
  const auto kept = std::make_shared<const StepForecast>(step);
  return with_timeline(answer_with<StepForecast>(
                           std::move(step), {{"json", step_json}, {"csv", step_csv}, {"text", step_text}}, step_page),
                       kept);
}

Answer run_training(const World& world, const MeasuredSite&, bool intervals, const RunOptions& how) {
  require_memory(world);
  constexpr double own_part = 0.5;
  StepForecast step = run_step(world, part_of(how, 0, intervals ? own_part : 1));
  if (intervals) add_interval(step, part_of(how, own_part, 1));
  return answer_of_step(std::move(step));
}

Answer run_execution_trace(const World& world, const MeasuredSite&, bool, const RunOptions& how) {
  return answer_of_step(run_trace(world, how));
}

Answer run_serving(const World& world, const MeasuredSite&, bool, const RunOptions& how) {
  require_memory(world);
  return answer_with<InferenceForecast>(run_inference(world, how),
                                        {{"json", inference_json}, {"csv", inference_csv}, {"text", inference_text}},
                                        inference_page);
}

/// The function that runs each kind of workload.
/// In the order of WorkloadKind.
constexpr std::array runs = {run_collective, run_training, run_serving, run_execution_trace};

}  // namespace

Answer answer_run(const World& world, const RunQuestion& question, const RunOptions& how) {
  return placed(world.scenario(), [&] {
    const MeasuredSite site = site_of(question.measured, world, how);
    const auto kind = static_cast<std::size_t>(world.scenario().workload.kind);
    // Other jobs are forecast first; their traffic then slows the job's own forecast.
    return runs[kind](with_others(world, how), site, question.intervals, how);
  });
}

}  // namespace fabricast
