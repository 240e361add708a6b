// What forecasts of published serving are off by, by source and metric: rows of `serving.csv` against what was measured.
//
// Rows of one configuration share a scenario, which is forecast once. An error is forecast over published, less one: of
// times `+` is too slow, of rates `+` is too fast. Means over sources count each source once, by metric, for dense models
// and mixtures of experts apart. No fit has seen these rows.
//
// There are no intervals yet: forecasts of serving have none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabricast/calibrate/published_serving.hpp"

namespace fabricast {

/// What a scenario of serving gives, by metric; 0: it says nothing of it.
using ServingFigures = std::array<double, EnumNames<ServingMetric>::names.size()>;

/// Of a decode scenario: its batch at once, prompts and then output, and of `out_tok_s_gpu` decoding alone.
/// \throws UserError if the scenario is refused, or does not fit in memory
ServingFigures serving_figures(const std::string& scenario, const std::string& id);

struct ServingResult {
  MappedServing mapped;
  RowOutcome outcome = RowOutcome::forecast;
  std::string key;      ///< of refused and unsayable: the key, or `memory`
  std::string why;      ///< of refused and unsayable
  double forecast = 0;  ///< in the metric's unit
  double error() const { return forecast / mapped.row.value - 1; }
};

/// Forecasts of all rows that can be, in their order; the same bytes whatever the number of threads.
/// \param threads  0: as many as the machine has
std::vector<ServingResult> validate_serving(const std::vector<MappedServing>& rows,
                                            const std::function<void(double)>& progress = {}, int threads = 0);

/// Rows of one source, metric and kind of model. Collectives have no model: they count as dense.
struct ServingSummary {
  std::string source;
  ServingMetric metric = ServingMetric::tpot_ms;
  bool experts = false;
  std::size_t rows = 0, forecast = 0, refused = 0, unsayable = 0;
  double mean = 0, median = 0, bias = 0;  ///< of sizes of errors; of errors
  double worst = 0;                       ///< with its sign
};
/// In the order of the rows.
std::vector<ServingSummary> summarize_serving(const std::vector<ServingResult>& results);

/// Of a metric and kind of model, each source once.
struct ServingMean {
  ServingMetric metric = ServingMetric::tpot_ms;
  bool experts = false;
  std::size_t sources = 0, rows = 0;
  double mean = 0, median = 0, bias = 0;  ///< means of those of the sources
};
/// Those that have a forecast, dense models first, in the order of metrics.
std::vector<ServingMean> serving_means(const std::vector<ServingSummary>& summaries);

std::vector<KeyCount> missing_keys(const std::vector<ServingResult>& results);
std::vector<KeyCount> refusals(const std::vector<ServingResult>& results);
std::vector<KeyCount> unsaid_settings(const std::vector<ServingResult>& results);

/// \param rows  with every row and what was assumed of it
std::string serving_text(const std::vector<ServingResult>& results, bool rows);
/// The page for the docs.
std::string serving_markdown(const std::vector<ServingResult>& results);
/// All as JSON (docs/formats.md).
std::string serving_json(const std::vector<ServingResult>& results);

}  // namespace fabricast
