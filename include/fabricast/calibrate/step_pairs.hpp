// Differences between measured steps that have one thing apart: what a setting, a machine or more GPUs changed, and
// whether the forecast has it change as much.
//
// An error that two steps share goes out of their ratio: it tests the term that tells them apart. The list is data,
// `calibrate/data/step_pairs.json`: {id, kind, from, to} by the ids of steps and of rows of published tables (their source
// and number); `change` is laid over a scenario, and `ratio` stated where the source gives it and no times.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

struct StepPair {
  std::string id, kind;
  std::string from, to;                ///< ids; the same where something is changed
  std::string from_change, to_change;  ///< JSON laid over the scenario (RFC 7396); empty: none
  double ratio = 0;                    ///< time of `from` over that of `to`, as stated; 0: of their measured times
};
std::string shipped_step_pairs_path();
/// \throws UserError with the file and what is damaged
std::vector<StepPair> read_step_pairs(const std::string& path);

/// Times of `from` over those of `to`: above 1 where `to` is faster.
struct StepDifference {
  StepPair pair;
  double measured = 1, forecast = 1;
  std::string missing;  ///< why there is no forecast
  bool keeps_sign() const;
  /// Sign and two thirds of the size, and no more than one and a half times it; of less than 1 %: a forecast below that.
  bool keeps_size() const;
};

/// In the order of the list. \param steps, rows  by whose ids pairs name them
std::vector<StepDifference> step_differences(const std::vector<StepPair>& pairs, const std::vector<StepCase>& steps,
                                             const std::vector<MappedRow>& rows, const Hardware& hardware,
                                             const std::function<void(double)>& progress = {});

struct DifferenceSummary {
  std::string kind;
  std::size_t pairs = 0, sign = 0, size = 0;  ///< that are forecast, and of these those that keep it
};
std::vector<DifferenceSummary> summarize_differences(const std::vector<StepDifference>& differences);

std::string differences_text(const std::vector<StepDifference>& differences);
/// A section of the page for the docs.
std::string differences_markdown(const std::vector<StepDifference>& differences);

}  // namespace fabricast
