// Pairs of measured steps that differ in one thing, such as a setting, a machine or the number of GPUs. They test
// whether the forecast reproduces the effect of that difference.
//
// An error that two steps share cancels in the ratio of their times, so a pair tests the term in which they differ. The
// list is data, `calibrate/data/step_pairs.json`: {id, kind, from, to} with ids of steps or of rows of published tables
// (source and number). `from_change` and `to_change` override parts of a scenario; `ratio` replaces the ratio of the
// measured times if the source states only that.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// Two steps to compare.
struct StepPair {
  std::string id, kind;
  std::string from, to;                ///< ids; the same id where only a change is applied
  std::string from_change, to_change;  ///< JSON merge patch of the scenario (RFC 7396); empty: none
  double ratio = 0;                    ///< stated time of `from` divided by that of `to`; 0: use the measured times
};
/// Path of the shipped pairs.
std::string shipped_step_pairs_path();
/// \throws UserError with the file and the first fault
std::vector<StepPair> read_step_pairs(const std::string& path);

/// Measured and forecast time of `from` divided by that of `to`: above 1 if `to` is faster.
struct StepDifference {
  StepPair pair;
  double measured = 1, forecast = 1;
  std::string missing;  ///< why there is no forecast; empty: there is one
  /// Whether the forecast has the same step faster, or both ratios are within 1 % of 1.
  bool keeps_sign() const;
  /// Whether ln(forecast) is between 2/3 and 3/2 of ln(measured). If the measured ratio is within 1 % of 1: whether the
  /// forecast ratio is, too.
  bool keeps_size() const;
};

/// Evaluates the pairs, in order. Uses all cores; the result does not depend on the number of threads.
/// \param steps, rows  where the ids of pairs are looked up
/// \param progress     called with the fraction that is done, from any thread; may be empty
/// \throws Interrupted on Ctrl-C
std::vector<StepDifference> step_differences(const std::vector<StepPair>& pairs, const std::vector<StepCase>& steps,
                                             const std::vector<MappedRow>& rows, const Hardware& hardware,
                                             const std::function<void(double)>& progress = {});

/// Counts of the pairs of a kind that have a forecast.
struct DifferenceSummary {
  std::string kind;
  std::size_t pairs = 0, sign = 0, size = 0;  ///< all; those that keep the sign; those that keep the size
};
/// One summary for each kind of pair, in order of appearance.
std::vector<DifferenceSummary> summarize_differences(const std::vector<StepDifference>& differences);

/// A table as text for people.
std::string differences_text(const std::vector<StepDifference>& differences);
/// The section on differences of docs/validation-steps.md.
std::string differences_markdown(const std::vector<StepDifference>& differences);

}  // namespace fabricast
