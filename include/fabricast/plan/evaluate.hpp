// One configuration, forecast as `run` would.
#pragma once

#include <memory>

#include "fabricast/plan/row.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/scenario/study.hpp"

namespace fabricast {

struct EvaluateOptions {
  int threads = 1;
  bool risk = false;                      ///< whether to find out what failures do, which takes longer than all else
  bool intervals = true;                  ///< whether to find out the 90 % interval, which takes most of the time
  const MeasuredSite* site = nullptr;     ///< what is measured of the site; null: nothing
  std::shared_ptr<SearchStore> searches{};  ///< what NCCL's search has found in other rows; null: nothing
};

/// Forecasts a row of a study. A row that does not fit together is no fault: it is refused, and says why.
/// \throws Interrupted on Ctrl-C
SweepRow evaluate(const Study& study, std::size_t row, const EvaluateOptions& options);

}  // namespace fabricast
