// Conditions on the rows of a study: `step_s <= 1.05 * best`, `cost_per_gpu < 40000`, `busbw_gbps >= 0.95 * best`.
//
//   condition = product comparison product        comparison: < <= > >= ==
//   product   = factor { (*|/) factor }           factor: a number, `best`, or the name of a metric
//
// `best` is the best value of the condition's only metric over all rows that were forecast, kept or not. A condition
// with `best` therefore names exactly one metric, and the metric must have a better direction. A condition does not
// hold in a row where one of its metrics has no value.
//
// Values are in the unit that the name of the metric states. Pure functions; safe to call concurrently.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/plan/row.hpp"

namespace fabricast {

/// `<`, `<=`, `>`, `>=` and `==`. Values are compared as they are, which are rounded to 10 digits; `==` has no
/// tolerance.
enum class Comparison { less, at_most, more, at_least, equal };

/// A factor of a product.
struct Factor {
  enum class Kind { number, metric, best };
  Kind kind = Kind::number;
  double number = 1;       ///< of `number`
  std::size_t metric = 0;  ///< index into metrics(): the metric itself, or the one whose best value `best` is
  bool divide = false;     ///< divide by the factor instead of multiplying
};

/// A comparison of two products: `cost <= 1.05 best`, `memory < 0.9`, `step_s * gpus < 400`.
struct Condition {
  std::string text;  ///< as the user wrote it
  std::vector<Factor> left, right;
  Comparison comparison = Comparison::less;
};

/// Parses a condition.
/// \param path  the key of the condition, for messages
/// \throws UserError at `path`: a syntax error with its position, an unknown metric, no metric, or an unclear `best`
Condition parse_condition(const std::string& text, const std::string& path);

/// The best value of each metric over the rows, indexed as metrics(). Empty where no row has a value, or where neither
/// direction is better.
std::vector<std::optional<double>> best_values(const std::vector<SweepRow>& rows);

/// Whether a condition holds in a row. False if the row is not done, if a metric has no value in it, or if a divisor is
/// 0: a row whose cost is unknown is not within a budget. \param best  from `best_values`
bool holds(const Condition& condition, const SweepRow& row, const std::vector<std::optional<double>>& best);

}  // namespace fabricast
