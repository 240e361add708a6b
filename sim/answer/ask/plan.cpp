// Which of many configurations: a sweep over the axes of a study, or a search for splits of a training step, whose rows
// do not follow from axes.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/ask/ask.hpp"
#include "fabricast/bill/prices.hpp"
#include "fabricast/page/plan_page.hpp"
#include "fabricast/plan/report.hpp"
#include "fabricast/report/plan.hpp"
#include "forms.hpp"

namespace fabricast {

namespace {

constexpr std::size_t rows_of_text = 20;

/// If no row can be forecast, the error is probably in what all rows share. It is then reported with its position.
void check_rows(const Study& study, const SweepResult& result, const Decision& decision) {
  // Single refused rows are data; if all are refused, the study has no answer.
  if (decision.done > 0 || result.interrupted) return;
  try {
    (void)build_world(scenario_of(study, 0));
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults) study.locate_in_row(d, 0);
    throw UserError(std::move(faults));
  }
  throw UserError(fmt::format("no configuration can be forecast; the first fails with: {}", result.rows.front().why));
}

/// Notes for the report: a common NCCL version that was assumed for all rows, and the source of prices.
std::vector<std::string> notes_of(const Study& study) {
  std::vector<std::string> notes;
  if (!study.common_version.empty())
    notes.push_back(fmt::format(
        "NCCL {} in all rows, because nccl.version is not stated and the usual version differs between GPUs",
        study.common_version));
  try {
    const Scenario first = scenario_of(study, 0);
    if (first.prices.empty()) return notes;
    const Prices prices = prices_of(first);
    notes.push_back(fmt::format("cost in {}, prices of {}: {}", prices.currency, prices.date, prices.label));
  } catch (const UserError&) {}  // the first row is invalid and reports the error itself
  return notes;
}

/// The measurements of the site. They belong to the scenario without its sweep, or to the first row if that is invalid.
MeasuredSite measured_of(const Study& study, const std::vector<MeasuredFile>& measured) {
  Scenario base;
  try {
    base = parse_scenario(study.text, study.file, study.overrides).scenario;
  } catch (const UserError&) {
    try {
      base = scenario_of(study, 0);
    } catch (const UserError&) { return unmeasured_site(); }  // every row reports the error
  }
  try {
    return site_of(measured, build_world(std::move(base)), {});
  } catch (const UserError&) {
    if (!measured.empty()) throw;
    return unmeasured_site();
  }
}

/// What a report refers to, in one place.
struct KeptPlan {
  Study study;
  std::vector<SweepRow> rows;
  Decision decision;
  std::vector<std::string> notes;
  PlanReport report() const { return {study, rows, decision, notes}; }
};

/// An objective of cost needs prices, which are asked for before rows are forecast for hours.
void check_prices(const Study& study, const Objective& objective) {
  const std::string key = key_of_cost(objective);
  if (key.empty()) return;
  const auto sets_prices = [](const std::string& word) { return word.starts_with("prices="); };
  for (const SweepAxis& axis : study.axes)
    for (const SweepValue& value : axis.values)
      if (std::any_of(value.set.begin(), value.set.end(), sets_prices)) return;
  try {
    if (!scenario_of(study, 0).prices.empty()) return;
  } catch (const UserError&) { return; }  // the row reports the error itself
  throw UserError::at(key, "no row has a cost, because the scenario has no prices",
                      "add `prices: FILE`; `fabricast describe prices` shows the keys of such a file");
}

}  // namespace

SweepOptions PreparedSweep::options() const {
  SweepOptions all = how;
  all.site = &site;
  return all;
}

PreparedSweep prepare_sweep(const Study& study, bool intervals, bool risk, const std::vector<MeasuredFile>& measured,
                            const RunOptions& how) {
  const Objective objective = placed(study, [&] { return objective_of(study); });
  if (study.axes.empty())
    throw UserError(
        fmt::format("{}: nothing to vary", study.file),
        "add `sweep: {cluster.nodes: [32, 64]}`, or use --sweep 'cluster.nodes=[32, 64]' or --search parallel");
  placed(study, [&] { check_prices(study, objective); });
  PreparedSweep prepared{measured_of(study, measured), {}};
  prepared.how.run = how;
  prepared.how.intervals = intervals;
  // Failures take longer than all else, so they are computed only where something asks for them.
  prepared.how.risk = risk || asks_for_risk(objective);
  return prepared;
}

SweepAnswer answer_sweep(const Study& study, SweepResult result, std::size_t top) {
  Decision decision = decide(study, result.rows);
  check_rows(study, result, decision);
  const auto kept =
      std::make_shared<const KeptPlan>(KeptPlan{study, std::move(result.rows), decision, notes_of(study)});
  SweepAnswer out;
  out.decision = std::move(decision);
  out.answer.forms = {
      {"json", [kept] { return plan_json(kept->report()); }},
      {"csv", [kept] { return plan_csv(kept->report()); }},
      {"text", [kept, top] { return plan_text(kept->report(), top > 0 ? top : rows_of_text); }},
  };
  out.answer.page = [kept](std::string command) { return plan_page(kept->report(), std::move(command)); };
  return out;
}

Answer answer_search(const World& world, std::size_t limit, std::size_t top, const RunOptions& how) {
  return placed(world.scenario(), [&] {
    if (world.scenario().workload.kind != WorkloadKind::training_step)
      throw UserError::at("workload.kind", "--search parallel is only for training steps", "write kind: training_step");
    const auto kept = std::make_shared<const PlanResult>(plan_parallel(world, limit, how));
    Answer answer;
    answer.forms = {{"json", [kept, top] { return plan_json(*kept, top); }},
                    {"csv", [kept, top] { return plan_csv(*kept, top); }},
                    {"text", [kept, top] { return plan_text(*kept, top > 0 ? top : rows_of_text); }}};
    return answer;
  });
}

}  // namespace fabricast
