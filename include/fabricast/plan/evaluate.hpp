// Forecasts one configuration of a study, as `fabricast run` would, with its bill, cost and risk.
//
// Safe to call concurrently; calls may share the site of the options.
#pragma once

#include "fabricast/plan/row.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/scenario/study.hpp"

namespace fabricast {

/// How to forecast a row. Only `risk`, `intervals` and `site` change the result.
struct EvaluateOptions {
  int threads = 1;                     ///< of one row
  bool risk = false;                   ///< forecast failures, which takes longer than everything else
  bool intervals = true;               ///< compute 90 % intervals, which takes most of the remaining time
  const MeasuredSite* site = nullptr;  ///< measured rows to condition intervals on; null: none
};

/// Forecasts a row of a study. An error of the user in the row (an inconsistent configuration, or one that does not fit
/// in memory) is not thrown: the row is returned as refused, with the reason.
/// \param row  number of the row, below row_count(study)
/// \throws Interrupted on Ctrl-C
SweepRow evaluate(const Study& study, std::size_t row, const EvaluateOptions& options);

}  // namespace fabricast
