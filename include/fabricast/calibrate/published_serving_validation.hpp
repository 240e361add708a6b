// What forecasts of published serving are off by, by source and metric: rows of `serving.csv` against what was measured. And
// the fit of what serving engines cost (`serving.*`) to them.
//
// Rows of one configuration share a scenario, which is forecast once. An error is forecast over published, less one: of
// times `+` is too slow, of rates `+` is too fast. Means over sources count each source once, by metric, for dense models
// and MoE apart. The figures to trust are of fits that have not seen the source (leave_out_serving).
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "fabricast/calibrate/published_serving.hpp"

namespace fabricast {

/// What a scenario of serving gives, by metric; 0: it says nothing of it.
using ServingFigures = std::array<double, EnumNames<ServingMetric>::names.size()>;

/// Of a decode scenario: its batch at once, prompts and then output, and of `out_tok_s_gpu` decoding alone.
/// \throws UserError if the scenario is refused, or does not fit in memory
ServingFigures serving_figures(const std::string& scenario, const std::string& id,
                               const Hardware& hardware = shipped_hardware());

struct ServingResult {
  MappedServing mapped;
  RowOutcome outcome = RowOutcome::forecast;
  std::string key;      ///< of refused and unsayable: the key, or `memory`
  std::string why;      ///< of refused and unsayable
  double forecast = 0;  ///< in the metric's unit
  double factor = 1;    ///< the 90 % interval: forecast / factor to forecast x factor
  double error() const { return forecast / mapped.row.value - 1; }
  bool within() const { return std::abs(std::log(forecast / mapped.row.value)) <= std::log(factor); }
};

/// Forecasts of all rows that can be, in their order; the same bytes whatever the number of threads.
/// \param threads  0: as many as the machine has
std::vector<ServingResult> validate_serving(const std::vector<MappedServing>& rows,
                                            const Hardware& hardware = shipped_hardware(),
                                            const std::function<void(double)>& progress = {}, int threads = 0);

/// Gives a row the interval of this spread.
void set_interval(ServingResult& result, const ServingSpread& spread);

struct ServingFitOptions {
  int iterations = 6;
  std::function<void(int iteration, double loss)> progress;
};
/// Fits `serving.*` to some rows of each source, engine and kind of model, weighed so that each source counts alike.
/// \throws UserError if there are none
Fit fit_serving(const std::vector<MappedServing>& rows, const Hardware& prior, const ServingFitOptions& options);
/// Fits without each source in turn, and forecasts all its rows by that; in the order of the rows. Intervals are those that
/// the other sources tell.
/// \param fitted  with the fit of all rows, where each fit starts
std::vector<ServingResult> leave_out_serving(const std::vector<MappedServing>& rows, const Hardware& prior,
                                             const Hardware& fitted, const ServingFitOptions& options,
                                             const std::function<void(double)>& progress = {});
/// What forecasts of sources that no fit has seen are off by. 90 % of rows lie within, each source counted once. What no row
/// tells stays as it is in `prior`.
std::vector<FittedParameter> learned_spread(const std::vector<ServingResult>& left_out, const Hardware& prior);

/// Rows of one source, metric and kind of model. Collectives have no model: they count as dense.
struct ServingSummary {
  std::string source;
  ServingMetric metric = ServingMetric::tpot_ms;
  bool experts = false;
  std::size_t rows = 0, forecast = 0, refused = 0, unsayable = 0;
  std::size_t within = 0;                 ///< of those with a forecast, in their 90 % interval
  double mean = 0, median = 0, bias = 0;  ///< of sizes of errors; of errors
  double worst = 0;                       ///< with its sign
};
/// In the order of the rows.
std::vector<ServingSummary> summarize_serving(const std::vector<ServingResult>& results);

/// Of a metric and kind of model, each source once.
struct ServingMean {
  ServingMetric metric = ServingMetric::tpot_ms;
  bool experts = false;
  std::size_t sources = 0, rows = 0, within = 0;
  double mean = 0, median = 0, bias = 0;  ///< means of those of the sources
};
/// Those that have a forecast, dense models first, in the order of metrics.
std::vector<ServingMean> serving_means(const std::vector<ServingSummary>& summaries);

std::vector<KeyCount> missing_keys(const std::vector<ServingResult>& results);
std::vector<KeyCount> refusals(const std::vector<ServingResult>& results);
std::vector<KeyCount> unsaid_settings(const std::vector<ServingResult>& results);

/// \param rows  with every row and what was assumed of it
std::string serving_text(const std::vector<ServingResult>& results, bool rows);
/// What the page for the docs is of.
struct ServingPage {
  std::vector<ServingResult> results;     ///< left out by source, or in the fit
  std::vector<ServingResult> in_the_fit;  ///< the same rows beside those left out; else empty
};
std::string serving_markdown(const ServingPage& page);
/// All as JSON (docs/formats.md).
std::string serving_json(const std::vector<ServingResult>& results);

}  // namespace fabricast
