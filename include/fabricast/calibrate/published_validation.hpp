// What forecasts of published steps are off by, by source: rows of `training_steps.csv` against what they took.
//
// A table with many rows is not worth more than one with few: means over sources count each source once, for dense models
// and for mixtures of experts apart. No fit has seen these rows but those that steps.json holds, too: those are repeated
// there, and not counted here.
#pragma once

#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

struct PublishedResult {
  MappedRow mapped;
  RowOutcome outcome = RowOutcome::forecast;
  std::string key;  ///< of refused and unsayable: the key, or `memory`; repeated: the id of the other
  std::string why;  ///< of refused and unsayable
  StepRow step;     ///< of forecast
};

/// Forecasts of all rows that can be, in their order. Every row is refused for its own reasons alone.
std::vector<PublishedResult> validate_published(const std::vector<MappedRow>& rows, const std::vector<StepCase>& known,
                                                const Hardware& hardware,
                                                const std::function<void(double)>& progress = {});

/// Rows to fit to: of each source and kind of model at most so many, spread over its table, as more of the same tell little.
/// Each source weighs like a few rows that are 6 % off. Rows that are refused but for memory, and repeated ones, are left out.
std::vector<StepCase> fitted_rows(const std::vector<MappedRow>& rows, const std::vector<StepCase>& known);

/// Errors are forecast over published, less one; means of their sizes.
struct PublishedSummary {
  std::string source;
  bool experts = false;
  std::size_t rows = 0, forecast = 0, refused = 0, unsayable = 0, repeated = 0;
  std::size_t within = 0;  ///< of forecast: the published step lies in the 90 % interval
  double mean = 0, median = 0, bias = 0;
  double worst = 0;  ///< with its sign
};
/// By source and kind of model, in the order of the rows.
std::vector<PublishedSummary> summarize_published(const std::vector<PublishedResult>& results);

/// Each source counts once.
struct SourceMean {
  std::size_t sources = 0, rows = 0, within = 0;
  double mean = 0, median = 0, bias = 0;  ///< means of those of the sources
};
SourceMean mean_over_sources(const std::vector<PublishedSummary>& summaries, bool experts);

/// How many rows each missing key keeps out, and each setting that cannot be said; the most first.
std::vector<KeyCount> missing_keys(const std::vector<PublishedResult>& results);
std::vector<KeyCount> refusals(const std::vector<PublishedResult>& results);
std::vector<KeyCount> unsaid_settings(const std::vector<PublishedResult>& results);

/// \param rows  with every row and what was assumed of it
std::string published_text(const std::vector<PublishedResult>& results, bool rows);
/// Sections of the page for the docs: tables by source, and every row.
std::string published_markdown(const std::vector<PublishedResult>& results);
std::string published_rows_markdown(const std::vector<PublishedResult>& results);

/// Both as JSON (docs/formats.md).
std::string steps_json(const StepValidation& steps, const std::vector<PublishedResult>& published);

}  // namespace fabricast
