// Compares two forecasts written by `run --json`: has anything become slower? For the continuous integration of a
// cluster's plan, and after an update of fabricast.
//
// Collectives are compared by time, size by size. Steps are compared by step time and tokens per second, inference
// also by the figures of its requests. A figure that is missing in the newer forecast counts as worse. Intervals are
// ignored: two forecasts of one model differ by what was changed in the scenario, not by the error of the model.
//
// Times of collectives are in microseconds, other times in seconds, as in the JSON. Tolerances and losses are
// fractions: 0.05 is 5 %.
//
// Pure functions; safe to call concurrently. Not compared: memory, breakdowns, and answers of `explain`.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

/// A figure that both forecasts have.
struct ComparedFigure {
  std::string what;  ///< "1MiB", "step"
  std::string unit;  ///< "us", "s", "tokens/s"
  double before = 0, after = 0;
  bool more_is_better = false;
  std::vector<std::string> changed;  ///< "ring/simple -> tree/ll128"

  /// Fraction of `before` by which `after` is worse; negative if it is better.
  double loss() const;
};

/// The result of a comparison.
struct ForecastComparison {
  std::vector<ComparedFigure> figures;  ///< in the order of the older forecast
  std::vector<std::string> gone;        ///< figures that only the older forecast has
  std::vector<std::string> added;       ///< figures that only the newer forecast has
  std::vector<std::string> changed;     ///< in version and scenario: "fabric.oversubscription: 1 -> 2"
  bool same = false;                    ///< version, scenario, fingerprint and all figures are equal

  /// Number of figures that are worse by more than `tolerance`.
  std::size_t worse(double tolerance) const;
  /// Whether no figure is missing and none is worse by more than `tolerance`.
  bool passes(double tolerance) const { return gone.empty() && worse(tolerance) == 0; }
};

/// Compares two texts of `run --json`. The names are those of their files, for messages.
/// \throws UserError if a text is not a forecast, or if the two have no figure in common
ForecastComparison compare_forecasts(const std::string& before, const std::string& before_name,
                                     const std::string& after, const std::string& after_name);

/// A table of the figures with a verdict each, and the overall verdict in the last line.
std::string comparison_text(const ForecastComparison& comparison, double tolerance);
/// The same as JSON (docs/formats.md).
std::string comparison_json(const ForecastComparison& comparison, double tolerance);

}  // namespace fabricast
