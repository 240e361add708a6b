// How far off forecasts are that go on from a few measured rows, of systems that no fit has seen.
#pragma once

#include <vector>

#include "fabricast/calibrate/residuals.hpp"

namespace fabricast {

/// Errors of the rows that were not given.
struct ConditionedStudy {
  /// Of the system's other rows when `rows` of one sweep are given, from its smallest size to its largest; each sweep in
  /// turn. First without any.
  struct Few {
    int rows = 0;
    ErrorTable all, same_sweep, other_sweeps;
  };
  std::vector<Few> few;
  /// Of sweeps on more than two nodes, when all of those on one and two are given; before and after.
  ErrorTable larger_before, larger_after;
  /// Systems and bands in which errors grew by more than two points, and all, there.
  int worse = 0, cells = 0;
};

/// By models that have not seen the system.
ConditionedStudy conditioned_study(const LeftOutErrors& errors);
std::string conditioned_text(const ConditionedStudy& study);

}  // namespace fabricast
