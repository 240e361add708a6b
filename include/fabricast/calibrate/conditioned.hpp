// How exact forecasts are that are conditioned on a few measured rows of the same system, for systems that no fit has
// seen. `calibrate residuals` prints the study; docs/models/intervals.md, "What it is worth", quotes it.
#pragma once

#include <vector>

#include "fabricast/calibrate/residuals.hpp"

namespace fabricast {

/// Errors of rows that were not given.
struct ConditionedStudy {
  /// Errors when some rows of one sweep are given, evenly spaced from its smallest size to its largest. Each sweep of a
  /// system is used in turn, up to twelve.
  struct Few {
    int rows = 0;                              ///< number of given rows
    ErrorTable all, same_sweep, other_sweeps;  ///< of all other rows, and of those of the same and of other sweeps
  };
  std::vector<Few> few;  ///< for 1, 2 and 4 given rows
  /// Errors on more than two nodes, without given rows and with up to 120 rows on one and two nodes.
  ErrorTable larger_before, larger_after;
  /// Of the latter: combinations of system and size band, and those whose error grew by more than two points.
  int worse = 0, cells = 0;
};

/// Each system is judged by the model that has not seen it. Deterministic; uses all cores.
ConditionedStudy conditioned_study(const LeftOutErrors& errors);
std::string conditioned_text(const ConditionedStudy& study);

}  // namespace fabricast
