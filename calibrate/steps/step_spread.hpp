// Intervals of steps that were left out of a fit.
#pragma once

#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// Gives the rows of each group intervals that are learned from the errors of the other groups of the same kind.
void set_intervals_without_own(std::vector<LeftOutFit>& fits, const Hardware& prior);

}  // namespace fabricast
