// Errors of forecasts of published serving, by source and metric: rows of `serving.csv` compared with their published
// values; and the fit of the parameters of serving engines (`serving.*`) to these rows.
//
// Rows of one configuration share a scenario, which is forecast once. An error is forecast / published - 1: for times
// `+` is too slow, for rates `+` is too fast. Means over sources count each source once, by metric, separately for
// dense and MoE models. The figures to rely on come from fits that have not seen the source (leave_out_serving).
//
// Forecasts of validate_serving run in parallel; results do not depend on the number of threads. Intervals are
// log-normal with the standard deviations of `forecast.serving.*` (report/serving_interval.hpp).
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "fabricast/calibrate/published_serving.hpp"

namespace fabricast {

/// The forecast of a scenario by metric, in the unit of the metric; 0: the scenario does not determine the metric.
using ServingFigures = std::array<double, EnumNames<ServingMetric>::names.size()>;

/// Forecasts a scenario. A scenario of phase decode is a static batch: all prompts, then its output tokens;
/// `out_tok_s_gpu` counts decoding only.
/// \param id  appears in messages
/// \throws UserError if the scenario is refused, or does not fit in memory; its path is then `memory`
ServingFigures serving_figures(const std::string& scenario, const std::string& id,
                               const Hardware& hardware = shipped_hardware());

/// A row with its forecast, or the reason why there is none.
struct ServingResult {
  MappedServing mapped;
  RowOutcome outcome = RowOutcome::forecast;
  std::string key;           ///< refused and unmapped rows: the key, or `memory`
  std::string why;           ///< refused and unmapped rows
  double forecast = 0;       ///< in the unit of the metric
  bool unvalidated = false;  ///< whether nothing like it is in the data of the fit, by report/validated.hpp
  double factor = 1;         ///< 90 % interval: forecast / factor to forecast * factor
  /// Relative error; positive: the forecast is too large. \pre the outcome is `forecast`
  double error() const { return forecast / mapped.row.value - 1; }
  /// Whether the published value is in the 90 % interval.
  bool within() const { return std::abs(std::log(forecast / mapped.row.value)) <= std::log(factor); }
};

/// Forecasts the rows, in their order.
/// \param progress  called with the fraction that is done, from any thread; may be empty
/// \param threads   0: one per core
/// \throws Interrupted on Ctrl-C
std::vector<ServingResult> validate_serving(const std::vector<MappedServing>& rows,
                                            const Hardware& hardware = shipped_hardware(),
                                            const std::function<void(double)>& progress = {}, int threads = 0);

/// Sets `factor` of a result from a spread, which is wider for an unvalidated one.
void set_interval(ServingResult& result, const ServingSpread& spread);

/// How to fit serving.
struct ServingFitOptions {
  int iterations = 6;
  std::function<void(int iteration, double loss)> progress;  ///< may be empty
};
/// Fits `serving.*` to at most eight scenarios of each source, engine and kind of model, with weights that make sources
/// count alike. Rows of low confidence are left out.
/// \throws UserError if no row is left
Fit fit_serving(const std::vector<MappedServing>& rows, const Hardware& prior, const ServingFitOptions& options);
/// Fits without each source in turn and forecasts all rows of that source with the result. Rows are in their order.
/// Intervals are learned from the errors of the other sources.
/// \param fitted  hardware with the fit of all rows, where each fit starts
std::vector<ServingResult> leave_out_serving(const std::vector<MappedServing>& rows, const Hardware& prior,
                                             const Hardware& fitted, const ServingFitOptions& options,
                                             const std::function<void(double)>& progress = {});
/// Learns `forecast.serving.*` from rows of sources that no fit has seen: the standard deviations with which 90 % of
/// rows are in their interval, each source counted once. Parameters that no row determines stay as in `prior`.
std::vector<FittedParameter> learned_spread(const std::vector<ServingResult>& left_out, const Hardware& prior);

/// Errors of one source, metric and kind of model. Collectives have no model and count as dense.
struct ServingSummary {
  std::string source;
  ServingMetric metric = ServingMetric::tpot_ms;
  bool experts = false;
  std::size_t rows = 0, forecast = 0, refused = 0, unsayable = 0;
  std::size_t within = 0;                 ///< of `forecast`: rows in their 90 % interval
  double mean = 0, median = 0, bias = 0;  ///< mean and median of absolute errors; mean of errors
  double worst = 0;                       ///< the largest error, with its sign
};
/// Summaries by source, metric and kind of model, in order of appearance.
std::vector<ServingSummary> summarize_serving(const std::vector<ServingResult>& results);

/// Means over sources of one metric and kind of model, each source counted once.
struct ServingMean {
  ServingMetric metric = ServingMetric::tpot_ms;
  bool experts = false;
  std::size_t sources = 0, rows = 0, within = 0;
  double mean = 0, median = 0, bias = 0;
};
/// The means that have a forecast: dense models first, by metric.
std::vector<ServingMean> serving_means(const std::vector<ServingSummary>& summaries);

/// Number of unmapped rows by reason, most frequent first.
std::vector<KeyCount> missing_keys(const std::vector<ServingResult>& results);
/// Number of refused rows by key, most frequent first.
std::vector<KeyCount> refusals(const std::vector<ServingResult>& results);
/// Number of rows by setting that a scenario has no key for, most frequent first.
std::vector<KeyCount> unsaid_settings(const std::vector<ServingResult>& results);

/// Tables as text for people.
/// \param rows  whether to list every row with its assumptions
std::string serving_text(const std::vector<ServingResult>& results, bool rows);
/// The content of docs/validation-serving.md.
struct ServingPage {
  std::vector<ServingResult> results;     ///< left out by source, or in the fit
  std::vector<ServingResult> in_the_fit;  ///< the same rows in the fit, if `results` are left out; else empty
};
std::string serving_markdown(const ServingPage& page);
/// The results as JSON (docs/formats.md).
std::string serving_json(const std::vector<ServingResult>& results);

}  // namespace fabricast
