// What a study came to: for reading, and for other programs.
#pragma once

#include <string>

#include "fabricast/plan/decision.hpp"

namespace fabricast {

struct PlanReport {
  const Study& study;
  const std::vector<SweepRow>& rows;  ///< all of the study, in order
  const Decision& decision;
  std::vector<std::string> notes;  ///< on what all rows have in common, e.g. whose prices
};

/// The answer in a sentence, then a table, the best first. \param top  rows at most; 0: all
std::string plan_text(const PlanReport& report, std::size_t top);
/// All rows in the study's order.
std::string plan_json(const PlanReport& report);
std::string plan_csv(const PlanReport& report);
/// The answer in words, without a line break.
std::string answer_text(const PlanReport& report);
/// What the objective is, in words: `least cost with time_us <= 1.05 * best`.
std::string goal_text(const Objective& objective);
/// What a row is called: the values of its axes.
std::string row_text(const Study& study, std::size_t row);
/// Metrics that tables show, by place in metrics(): the usual ones, and those that the objective names, that have values.
std::vector<std::size_t> shown_metrics(const PlanReport& report);

}  // namespace fabricast
