// What is known of a configuration as numbers: the columns of a sweep, and the words of its objective.
//
// A metric is a line of the table in sim/plan/metrics.cpp: a name with its unit in it, what it means, which way is better,
// and how it is read off what was made of the configuration. It has no value where it makes no sense, e.g. a bus bandwidth
// of a training step.
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

enum class Better { neither, lower, higher };

/// What was made of one configuration.
struct Measured {
  const World& world;
  const Forecast* collective = nullptr;  ///< exactly one of these three, by the workload
  const StepForecast* step = nullptr;
  const InferenceForecast* inference = nullptr;
  const Bill* bill = nullptr;
  const Risk* risk = nullptr;  ///< null: nobody asked for it
  const Cost* cost = nullptr;  ///< null: the scenario names no prices
};

struct Metric {
  std::string_view name, summary;
  Better better = Better::neither;
  std::optional<double> (*of)(const Measured&) = nullptr;
};
std::span<const Metric> metrics();

/// Whether a metric is made of failures, which take longer than all else.
bool is_of_risk(std::size_t metric);

/// Its place in `metrics()`.
std::optional<std::size_t> find_metric(std::string_view name);
/// \throws UserError about the key at `path` if there is none of that name
std::size_t metric_named(std::string_view name, const std::string& path);

/// By place in `metrics()`; 10 digits, so that a value prints alike on every machine.
std::vector<std::optional<double>> measure(const Measured& measured);

/// The size of a collective that metrics are of: the largest.  \pre there are rows
const ForecastRow& largest(const Forecast& forecast);

}  // namespace fabricast
