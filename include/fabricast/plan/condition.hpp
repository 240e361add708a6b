// Conditions on rows: `step_s <= 1.05 * best`, `cost_per_gpu < 40000`, `busbw_gbps >= 0.95 * best`.
//
//   condition = product comparison product        comparison: < <= > >= ==
//   product   = factor { (*|/) factor }           factor: a number, `best`, or a metric
//
// `best` is the best value, over all rows that were forecast, of the only metric on the other side. A condition whose
// metric has no value in a row does not hold there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/plan/row.hpp"

namespace fabricast {

enum class Comparison { less, at_most, more, at_least, equal };

struct Factor {
  enum class Kind { number, metric, best };
  Kind kind = Kind::number;
  double number = 1;
  std::size_t metric = 0;  ///< by place in metrics(); of `best`, that whose best it is
  bool divide = false;
};

struct Condition {
  std::string text;
  std::vector<Factor> left, right;
  Comparison comparison = Comparison::less;
};

/// \throws UserError about the key at `path`, with what was expected where
Condition parse_condition(const std::string& text, const std::string& path);

/// The best value of each metric over rows, by place in metrics(); nothing where there is none, or no better way.
std::vector<std::optional<double>> best_values(const std::vector<SweepRow>& rows);

bool holds(const Condition& condition, const SweepRow& row, const std::vector<std::optional<double>>& best);

}  // namespace fabricast
