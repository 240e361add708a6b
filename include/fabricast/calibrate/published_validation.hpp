// Errors of forecasts of published steps, by source: rows of `training_steps.csv` compared with their measured times.
//
// A table with many rows carries little more information than one with few, so means over sources count each source
// once, separately for dense and MoE models. Rows that are also in steps.json, where the fit uses them, are marked as
// repeated and not counted here.
//
// An error is forecast / published - 1; `bias` is the mean of errors, `mean` and `median` are of their absolute values.
//
// Forecasts run on all cores. Results do not depend on the number of threads.
#pragma once

#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// A row with its forecast, or the reason why there is none.
struct PublishedResult {
  MappedRow mapped;
  RowOutcome outcome = RowOutcome::forecast;
  std::string key;  ///< refused and unmapped rows: the key, or `memory`; repeated rows: the id of the other row
  std::string why;  ///< refused and unmapped rows
  StepRow step;     ///< rows with a forecast
};

/// Forecasts the rows, in their order. A row that is refused does not affect the others.
/// \param known     steps that are in a fit; rows that repeat them are marked
/// \param progress  called with the fraction that is done, from any thread; may be empty
/// \throws Interrupted on Ctrl-C
std::vector<PublishedResult> validate_published(const std::vector<MappedRow>& rows, const std::vector<StepCase>& known,
                                                const Hardware& hardware,
                                                const std::function<void(double)>& progress = {});

/// Selects rows to fit to: at most eight of each source and kind of model (dense, MoE), spread over its table. `noise`
/// is 6 %, and larger where a source has more than four rows, so that it weighs as much as four. Unmapped and repeated
/// rows and rows with an inconsistent split are left out; the estimate of memory is not checked.
std::vector<StepCase> fitted_rows(const std::vector<MappedRow>& rows, const std::vector<StepCase>& known);

/// Errors of one source and kind of model.
struct PublishedSummary {
  std::string source;
  bool experts = false;
  std::size_t rows = 0, forecast = 0, refused = 0, unsayable = 0, repeated = 0;
  std::size_t within = 0;  ///< of `forecast`: rows whose published time is in the 90 % interval
  double mean = 0, median = 0, bias = 0;
  double worst = 0;  ///< the largest error, with its sign
};
/// Summaries by source and kind of model, in order of appearance.
std::vector<PublishedSummary> summarize_published(const std::vector<PublishedResult>& results);

/// Means over sources, each source counted once.
struct SourceMean {
  std::size_t sources = 0, rows = 0, within = 0;
  double mean = 0, median = 0, bias = 0;
};
/// The means of dense or of MoE models. Sources without a forecast are ignored.
SourceMean mean_over_sources(const std::vector<PublishedSummary>& summaries, bool experts);

/// Number of unmapped rows by reason, most frequent first.
std::vector<KeyCount> missing_keys(const std::vector<PublishedResult>& results);
/// Number of refused rows by key, most frequent first.
std::vector<KeyCount> refusals(const std::vector<PublishedResult>& results);
/// Number of rows by setting that a scenario has no key for, most frequent first.
std::vector<KeyCount> unsaid_settings(const std::vector<PublishedResult>& results);

/// Tables as text for people.
/// \param rows  whether to list every row with its assumptions
std::string published_text(const std::vector<PublishedResult>& results, bool rows);
/// The section on published tables of docs/validation-steps.md.
std::string published_markdown(const std::vector<PublishedResult>& results);
/// The section of the same page that lists every row.
std::string published_rows_markdown(const std::vector<PublishedResult>& results);

/// Measured steps and published rows as JSON (docs/formats.md).
std::string steps_json(const StepValidation& steps, const std::vector<PublishedResult>& published);

}  // namespace fabricast
