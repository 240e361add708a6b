// Which row of a study to take: the rows that satisfy the conditions, the best of these, and the Pareto front.
//
// A row is on the front if no other row beats it in one of the front's metrics and is no worse in the others. All rows
// that were forecast count for the front, whether or not the conditions keep them.
//
// Pure functions; safe to call concurrently. Docs: docs/plan.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/plan/condition.hpp"
#include "fabricast/scenario/study.hpp"

namespace fabricast {

/// The section `objective` with the names of metrics resolved. Metrics are indices into metrics().
struct Objective {
  std::size_t metric = 0;  ///< to optimize; `time_s` unless the study names another
  bool minimize = true;
  std::vector<Condition> keep;
  std::vector<std::size_t> front;  ///< metrics of the Pareto front; empty: the default, which depends on the rows
};

/// Resolves the objective of a study.
/// \throws UserError at the key that has an unknown metric, an invalid condition, or on the front a metric without a
///         better direction
Objective objective_of(const Study& study);
/// Whether the objective uses a metric of risk, so that failures must be forecast.
bool asks_for_risk(const Objective& objective);
/// The key of the objective that uses a metric of cost; empty: none does.
std::string key_of_cost(const Objective& objective);

/// The decision about all rows of a study. Vectors of bool have one element for each row.
struct Decision {
  Objective objective;               ///< its front is filled in: by default time and cost, or power without prices
  std::vector<bool> kept, on_front;  ///< false for rows that were not forecast
  /// Rows that were forecast: the kept ones from best to worst, then the others in the same order of merit.
  std::vector<std::size_t> order;
  std::optional<std::size_t>
      best;  ///< the cheapest of `ties`; empty if no kept row has the metric, or rows were not run
  /// Kept rows whose metric is within `tie_width` of the best value: no real difference. A single row is no tie.
  std::vector<std::size_t> ties;
  std::optional<std::size_t> fastest;              ///< lowest `time_s` of all rows that were forecast, kept or not
  std::size_t done = 0, refused = 0, not_run = 0;  ///< numbers of rows by state
};

/// Configurations whose metric differs by less than this are equal. It is far less than the interval of any forecast.
constexpr double tie_width = 0.001;

/// Evaluates the objective. \param rows  all rows of the study, in order
/// \throws UserError as objective_of
Decision decide(const Study& study, const std::vector<SweepRow>& rows);

}  // namespace fabricast
