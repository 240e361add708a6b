// Locates slow hosts and NICs by comparing runs of one test on different hosts or NICs. Pure functions.
#pragma once

#include <vector>

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

/// Runs of one test, that is, series with the same scenario.
struct SeriesGroup {
  MeasuredSeries middle;             ///< the first run, with the median of all runs at each size
  std::vector<std::size_t> members;  ///< indices of the series
};
/// Groups the series whose effective scenarios have the same text, in the order of their first members.
std::vector<SeriesGroup> grouped(const std::vector<MeasuredSeries>& series);

/// Hosts and NICs whose runs are slower than the other runs of the same test; logs if they name neither. A place is
/// slow if its runs are slower than those without it by 5 % or more and by more than four times their scatter, and if
/// even its fastest run is slower by half of that.
std::vector<SlowPlace> places_of(const std::vector<MeasuredSeries>& series, const std::vector<SeriesGroup>& groups);

}  // namespace fabricast
