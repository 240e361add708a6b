// The page of a capacity plan: the answer, the front, all rows to sort and filter, and what was refused.
#pragma once

#include <string>

#include "fabricast/page/page.hpp"
#include "fabricast/plan/report.hpp"

namespace fabricast {

/// Chart `front`; where an axis is a number with three values or more, for each metric of the objective a chart over it, by the
/// metric's name. \param command  as it was typed
Page plan_page(const PlanReport& report, std::string command);

}  // namespace fabricast
