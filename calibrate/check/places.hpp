// Where a cluster is slow: by several runs of one test on unlike hosts or NICs.
#pragma once

#include <vector>

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

/// Series of one scenario, and the middle of their times: median over them, size by size.
struct SeriesGroup {
  MeasuredSeries middle;
  std::vector<std::size_t> members;  ///< by number
};
/// In the order of their first members. Series are of one group if their effective scenarios are the same text.
std::vector<SeriesGroup> grouped(const std::vector<MeasuredSeries>& series);

/// Hosts and NICs whose series are slower than the others of their groups; where a log tells neither, logs. A place counts
/// if its series are at least 5 % slower than those without, and by more than four times what these scatter.
std::vector<SlowPlace> places_of(const std::vector<MeasuredSeries>& series, const std::vector<SeriesGroup>& groups);

}  // namespace fabricast
