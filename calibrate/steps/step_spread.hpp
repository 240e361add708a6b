// What forecasts of steps are off by where no fit has been.
#pragma once

#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// Rows of each group have the intervals that the other groups, each left out, tell.
void set_intervals_without_own(std::vector<LeftOutFit>& fits, const Hardware& prior);

}  // namespace fabricast
