#include "serving_spread.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/calibrate/published_serving_validation.hpp"

namespace fabricast {

namespace {

/// Parameters of a spread under which rows of a kind come, by name.
std::string kind_of(const MappedServing& row) {
  // Each has another value, by which it is told.
  ServingSpread numbered;
  std::vector<ParameterRef> all = parameters(numbered);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].parameter->value = static_cast<double>(i);
  const double number = deviation_of(serving_deviations(numbered, row.experts, row.apart), row.metric);
  return std::string(all[static_cast<std::size_t>(number)].name);
}

/// The value that nine tenths of the weight lie below.
double ninth_decile(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double all = 0, below = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values)
    if ((below += weight) >= 0.9 * all) return value;
  return 0;
}

}  // namespace

std::vector<FittedParameter> learned_spread(const std::vector<ServingResult>& left_out, const Hardware& prior) {
  std::map<std::string, std::map<std::string, std::vector<double>>> errors;  ///< by kind and source
  for (const ServingResult& r : left_out)
    if (r.outcome == RowOutcome::forecast)
      errors[kind_of(r.mapped)][r.mapped.row.source].push_back(std::abs(std::log(r.forecast / r.mapped.row.value)));
  std::vector<FittedParameter> learned;
  Hardware hardware = prior;
  for (const auto& [kind, sources] : errors) {
    std::vector<std::pair<double, double>> weighed;
    for (const auto& [source, list] : sources)
      for (const double e : list) weighed.emplace_back(e, 1 / static_cast<double>(list.size()));
    FittedParameter p;
    p.path = "forecast.serving." + kind;
    p.before = p.after = *hardware.find(p.path);
    p.after.value = ninth_decile(std::move(weighed)) / quantile_95;
    p.error = p.error_by_data = 1 / std::sqrt(2 * static_cast<double>(sources.size()));
    p.after.low = p.after.value * std::exp(-quantile_95 * p.error);
    p.after.high = p.after.value * std::exp(quantile_95 * p.error);
    learned.push_back(std::move(p));
  }
  return learned;
}

}  // namespace fabricast
