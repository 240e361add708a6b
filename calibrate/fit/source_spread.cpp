// Spreads from the errors of forecasts by source, for steps and serving. Sources count alike, however many rows each
// has, because rows of one source share its hardware and its mistakes.
#include "source_spread.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

double quantile_of(std::vector<std::pair<double, double>> weighted, double fraction) {
  std::sort(weighted.begin(), weighted.end());
  double all = 0, below = 0;
  for (const auto& [value, weight] : weighted) all += weight;
  for (const auto& [value, weight] : weighted)
    if ((below += weight) >= fraction * all) return value;
  return weighted.back().first;
}

FittedParameter spread_over_sources(const std::string& path, const Hardware& prior,
                                    const std::map<std::string, std::vector<double>>& needed) {
  std::vector<std::pair<double, double>> weighted;
  for (const auto& [source, list] : needed)
    for (const double spread : list) weighted.emplace_back(spread, 1 / static_cast<double>(list.size()));
  Hardware hardware = prior;
  FittedParameter p;
  p.path = path;
  p.before = p.after = *hardware.find(path);
  p.after.value = quantile_of(std::move(weighted), 0.9);
  // The logarithm of a standard deviation from n independent normal values has a standard error of 1 / sqrt(2 n).
  // Sources, not rows, are the independent values.
  p.error = p.error_by_data = 1 / std::sqrt(2 * static_cast<double>(needed.size()));
  p.after.low = p.after.value * std::exp(-quantile_95 * p.error);
  p.after.high = p.after.value * std::exp(quantile_95 * p.error);
  p.after.samples.clear();
  return p;
}

}  // namespace fabricast
