// Where the time goes, and which changes would help.
#include <fmt/format.h>

#include "fabricast/ask/ask.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/page/report_page.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/step_advice.hpp"
#include "fabricast/report/unstated.hpp"
#include "fabricast/scenario/trial.hpp"
#include "forecast_parts.hpp"
#include "forms.hpp"

namespace fabricast {

namespace {

/// Conditions an explanation on measured rows. All times at the size, including those of what was tried, move by the
/// same factor.
void condition_on(const MeasuredSite& site, Explanation& e) {
  add_intervals(e.forecast, site);
  const double level = e.forecast.rows.front().level;
  for (ForecastRow& row : e.weighed.rows) row.time *= level;
  for (WhatIf& change : e.what_ifs)
    for (Seconds& time : change.times) time *= level;
}

constexpr double part_of_forecast = 0.05;  // of the progress; trials take the rest

Answer explain_training(const World& world, const RunOptions& how) {
  require_memory(world);
  StepExplanation e;
  e.forecast = run_step(world, part_of(how, 0, part_of_forecast));
  e.what_ifs = what_would_help_step(e.forecast, part_of(how, part_of_forecast, 1));
  return answer_with<StepExplanation>(std::move(e), {{"json", explain_step_json}, {"text", explain_step_text}},
                                      explain_step_page);
}

Answer explain_serving(const World& world, const RunOptions& how) {
  require_memory(world);
  InferenceExplanation e;
  e.forecast = run_inference(world, part_of(how, 0, part_of_forecast));
  e.what_ifs = what_would_help_inference(e.forecast, part_of(how, part_of_forecast, 1));
  return answer_with<InferenceExplanation>(
      std::move(e), {{"json", explain_inference_json}, {"text", explain_inference_text}}, explain_inference_page);
}

Answer explain_collective(const World& world, const ExplainQuestion& question, const RunOptions& how) {
  Explanation e;
  const double begin = question.advise ? 0.9 : 0;
  if (question.advise) e.advice = advise(world, part_of(how, 0, begin));
  // The explanation is of one size; advice above was for all of them.
  Scenario one_size = world.scenario();
  set_sizes(one_size, {question.size.value_or(middle_size(one_size)).value});
  const World at_size = build_world(std::move(one_size));
  const auto part = [&](double from, double until) {
    return part_of(how, begin + from * (1 - begin), begin + until * (1 - begin));
  };
  e.forecast = forecast_all_versions(at_size, part(0, 0.05));
  e.weighed = run_candidates(e.forecast, part(0.05, 0.15));
  if (world.scenario().network.engine == EngineKind::flow) add_unstated(e.forecast, part(0.15, 0.2));
  // Runs of the chunk engine may take minutes, and the what-ifs of the flow engine are as informative.
  if (world.scenario().network.engine == EngineKind::flow)
    e.what_ifs = what_would_help(e.forecast, e.weighed, part(0.2, 1));
  // Last: what-ifs compare simulated times with each other, and all move by the same factor.
  if (const MeasuredSite site = site_of(question.measured, world, {}); !site.rows.empty()) condition_on(site, e);
  if (how.progress) how.progress(1);
  return answer_with<Explanation>(std::move(e), {{"json", explain_json}, {"text", explain_text}}, explain_page);
}

}  // namespace

Answer answer_explain(const World& world, const ExplainQuestion& question, const RunOptions& how) {
  return placed(world.scenario(), [&] {
    const WorkloadKind kind = world.scenario().workload.kind;
    if (kind == WorkloadKind::trace)
      throw UserError::at("workload.kind", "explain does not support execution traces",
                          "`fabricast run` forecasts them");
    if (kind == WorkloadKind::collective) return explain_collective(world, question, how);
    if (question.size || question.advise)
      throw UserError(fmt::format("{} is for collectives, but the workload is a step",
                                  question.size ? "a size" : "advice about NCCL"));
    return kind == WorkloadKind::inference ? explain_serving(world, how) : explain_training(world, how);
  });
}

}  // namespace fabricast
