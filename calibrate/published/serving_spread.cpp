// Learns the spread of serving forecasts from the errors of sources that no fit has seen. A row needs the standard
// deviation |ln(forecast / measured)| / 1.645 for its 90 % interval to just reach the measured value; the spread is the
// 90 % quantile of these, with each source counted once (fit/source_spread.hpp).
#include "serving_spread.hpp"

#include <cmath>
#include <map>

#include "../fit/source_spread.hpp"
#include "fabricast/calibrate/published_serving_validation.hpp"

namespace fabricast {

namespace {

/// The name of the spread parameter that applies to a row.
std::string kind_of(const MappedServing& row) {
  // Each parameter gets a distinct value, which identifies it in the result.
  ServingSpread numbered;
  std::vector<ParameterRef> all = parameters(numbered);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].parameter->value = static_cast<double>(i);
  const double number = deviation_of(serving_deviations(numbered, row.experts, row.apart), row.metric);
  return std::string(all[static_cast<std::size_t>(number)].name);
}

}  // namespace

std::vector<FittedParameter> learned_spread(const std::vector<ServingResult>& left_out, const Hardware& prior) {
  std::map<std::string, std::map<std::string, std::vector<double>>> needed;  ///< by kind and source
  for (const ServingResult& r : left_out)
    if (r.outcome == RowOutcome::forecast && !r.unvalidated)
      needed[kind_of(r.mapped)][r.mapped.row.source].push_back(std::abs(std::log(r.forecast / r.mapped.row.value)) /
                                                               quantile_95);
  std::vector<FittedParameter> learned;
  for (const auto& [kind, sources] : needed)
    learned.push_back(spread_over_sources("forecast.serving." + kind, prior, sources));
  return learned;
}

}  // namespace fabricast
