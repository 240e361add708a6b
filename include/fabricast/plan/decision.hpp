// Which row to take: those that fulfil the conditions, the best of them, and the Pareto front.
//
// The front is of all rows that were forecast: those that no other row beats in one of the front's metrics and equals or
// beats in the others. What is kept of it the conditions say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/plan/condition.hpp"
#include "fabricast/scenario/study.hpp"

namespace fabricast {

/// An objective with its words looked up.
struct Objective {
  std::size_t metric = 0;  ///< by place in metrics()
  bool minimize = true;
  std::vector<Condition> keep;
  std::vector<std::size_t> front;  ///< metrics; empty: time and cost, without prices time and power
};

/// \throws UserError about the words of `objective` that mean nothing
Objective objective_of(const Study& study);
/// Whether it asks for a metric of risk.
bool asks_for_risk(const Objective& objective);

struct Decision {
  Objective objective;
  std::vector<bool> kept, on_front;      ///< by row
  std::vector<std::size_t> order;        ///< rows that are kept, the best first; then the others that were forecast
  std::optional<std::size_t> best;       ///< of ties the cheapest; empty: none is kept, or the study was interrupted
  /// Kept rows whose metric is within `tie_width` of the best value: their forecasts do not differ. One alone is no tie.
  std::vector<std::size_t> ties;
  std::optional<std::size_t> fastest;    ///< of all that were forecast
  std::size_t done = 0, refused = 0, not_run = 0;
};

/// Configurations whose metric differs by less are called equal: far less than the interval of any forecast.
constexpr double tie_width = 0.001;

/// \param rows  of the study in order
Decision decide(const Study& study, const std::vector<SweepRow>& rows);

}  // namespace fabricast
