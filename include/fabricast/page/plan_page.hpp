// The page of a capacity plan, which `plan --html` writes: the answer, the Pareto front as a chart, curves over a
// numeric axis, all rows to sort and filter, and the refused rows with their reasons. Docs: docs/plan.md.
//
// A pure function; safe to call concurrently.
#pragma once

#include <string>

#include "fabricast/page/page.hpp"
#include "fabricast/plan/report.hpp"

namespace fabricast {

/// The page of a plan. Its chart `front` shows the first metric of the front against the last. If an axis has three or
/// more numbers of one unit in ascending order, the metric of the objective and those of the front also get a chart
/// over the first such axis, named after the metric, with at most eight curves.
/// \param command  as it was typed
Page plan_page(const PlanReport& report, std::string command);

}  // namespace fabricast
