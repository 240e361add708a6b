// Metrics: the numbers that describe a configuration. They are the columns of a sweep, and the names that an objective
// and its conditions can use.
//
// The table of metrics is in sim/answer/plan/metrics.cpp. Each line gives a name that ends in the unit if there is one,
// a description, the better direction, and a function that reads the value from the results of a configuration. A
// metric has no value where it makes no sense, e.g. the bus bandwidth of a training step. `fabricast list metrics`
// prints the table. To add a metric, add a line; sweeps, objectives and CSV columns follow.
//
// Names and order are a contract: they are columns of CSV and of the results file. A metric means the same for every
// workload that has it, because a study may have the workload as an axis.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/bill/cost.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/risk/risk.hpp"

namespace fabricast {

/// Which direction of a metric is better.
enum class Better {
  neither,  ///< a description, such as the number of GPUs; not an objective by itself
  lower,
  higher
};

/// The results of one configuration, from which metrics are read. Not owned.
struct Measured {
  World world;                           ///< of the configuration
  const Forecast* collective = nullptr;  ///< exactly one of these three is set, by the workload
  const StepForecast* step = nullptr;
  const InferenceForecast* inference = nullptr;
  const Bill* bill = nullptr;
  const Risk* risk = nullptr;  ///< null: not requested
  const Cost* cost = nullptr;  ///< null: the scenario names no prices
};

/// A line of the table.
struct Metric {
  std::string_view name, summary;  ///< the summary begins with the unit if the name has one
  Better better = Better::neither;
  std::optional<double> (*of)(const Measured&) = nullptr;  ///< the value; empty where the metric makes no sense
};
/// All metrics. Other functions refer to a metric by its index in this list. The list is constant.
std::span<const Metric> metrics();

/// Whether a metric needs the forecast of failures, which takes longer than everything else.
bool is_of_risk(std::size_t metric);
/// Whether a metric needs `prices`.
bool is_of_prices(std::size_t metric);

/// The index of a metric; empty if there is none of that name.
std::optional<std::size_t> find_metric(std::string_view name);
/// The index of a metric. \throws UserError at `path` if there is none of that name, with the most similar name as hint
std::size_t metric_named(std::string_view name, const std::string& path);

/// The values of all metrics, in the order of metrics(), rounded to 10 digits so that a value prints the same on every
/// machine. Costs are left out if some line of the bill has no price, because the sum would be too low.
/// \throws InternalError if a value is not finite
std::vector<std::optional<double>> measure(const Measured& measured);

/// The row of the largest size of a collective, which the metrics describe. \pre the forecast has rows
const ForecastRow& largest(const Forecast& forecast);

}  // namespace fabricast
