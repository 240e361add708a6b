// What a study came to: for reading, and for other programs.
#pragma once

#include <string>

#include "fabricast/plan/decision.hpp"

namespace fabricast {

struct PlanReport {
  const Study& study;
  const std::vector<SweepRow>& rows;  ///< all of the study, in order
  const Decision& decision;
};

/// The answer in a sentence, then a table, the best first. \param top  rows at most; 0: all
std::string plan_text(const PlanReport& report, std::size_t top);
/// All rows in the study's order.
std::string plan_json(const PlanReport& report);
std::string plan_csv(const PlanReport& report);
/// The answer in words, without a line break.
std::string answer_text(const PlanReport& report);

}  // namespace fabricast
