// Reports of a study: text for people, JSON and CSV for programs (docs/formats.md, plan). The page is
// page/plan_page.hpp.
//
// Pure functions; safe to call concurrently. The same study gives the same bytes on any number of threads.
#pragma once

#include <string>

#include "fabricast/plan/decision.hpp"

namespace fabricast {

/// A finished study. The referenced objects must outlive it.
struct PlanReport {
  const Study& study;
  const std::vector<SweepRow>& rows;  ///< all rows of the study, in order
  const Decision& decision;
  std::vector<std::string> notes;  ///< remarks that apply to all rows, e.g. the origin of the prices
};

/// A table of the rows, the best first, the reasons of refusals, and the answer in a sentence.
/// \param top  maximum number of rows; 0: all
std::string plan_text(const PlanReport& report, std::size_t top);
/// The sweep, the objective, the answer, and all rows in the order of the study.
std::string plan_json(const PlanReport& report);
/// All rows in the order of the study, with a column for each axis and each metric.
std::string plan_csv(const PlanReport& report);
/// The answer in a sentence without a full stop: the best row, its values, and a comparison with the fastest row.
std::string answer_text(const PlanReport& report);
/// The objective in words: `lowest cost with time_us <= 1.05 * best`.
std::string goal_text(const Objective& objective);
/// The name of a row: the values of its axes.
std::string row_text(const Study& study, std::size_t row);
/// Metrics that tables show, as indices into metrics(): the usual ones and those of the objective, if any row has a
/// value.
std::vector<std::size_t> shown_metrics(const PlanReport& report);

}  // namespace fabricast
