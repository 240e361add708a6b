// Two forecasts of `run --json`, held against each other: has it got worse? For continuous integration of a cluster's
// plan, and after an update of fabricast.
//
// Collectives are compared size by size, by time. Of steps: their time, the tokens per second, and of inference what
// its phase has besides. What is missing in the newer forecast counts as worse. Intervals are not looked at: two
// forecasts of the same model differ by what was changed, not by its error.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

struct ComparedFigure {
  std::string what;  ///< "1MiB", "step"
  std::string unit;  ///< "us", "s", "tokens/s"
  double before = 0, after = 0;
  bool more_is_better = false;
  std::vector<std::string> changed;  ///< "ring/simple -> tree/ll128"

  /// Part of `before` by which it is worse; negative: better.
  double loss() const;
};

struct ForecastComparison {
  std::vector<ComparedFigure> figures;
  std::vector<std::string> gone;     ///< figures that only the older forecast has
  std::vector<std::string> added;    ///< and that only the newer has
  std::vector<std::string> changed;  ///< of version and scenario: "fabric.oversubscription: 1 -> 2"
  bool same = false;                 ///< the very same forecast

  /// \param tolerance  part of a figure by which it may be worse
  std::size_t worse(double tolerance) const;
  bool passes(double tolerance) const { return gone.empty() && worse(tolerance) == 0; }
};

/// \param before, after  texts of `run --json`, and their names for messages
/// \throws UserError if one is no such text, or they have no figure in common
ForecastComparison compare_forecasts(const std::string& before, const std::string& before_name,
                                     const std::string& after, const std::string& after_name);

std::string comparison_text(const ForecastComparison& comparison, double tolerance);
std::string comparison_json(const ForecastComparison& comparison, double tolerance);

}  // namespace fabricast
