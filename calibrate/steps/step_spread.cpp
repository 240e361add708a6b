#include "step_spread.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/report/step_interval.hpp"

namespace fabricast {

namespace {

/// Of a row: the spread beside its parameters' that would just reach what was measured.
double needed_spread(const StepRow& row) {
  const double reach = std::log(row.forecast / row.measured) / quantile_95;
  return std::sqrt(std::max(0.0, reach * reach - row.deviation * row.deviation));
}

/// The value that nine tenths of the weight do not exceed.
double ninth_decile(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double all = 0, below = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values)
    if ((below += weight) >= 0.9 * all) return value;
  return 0;
}

}  // namespace

std::vector<FittedParameter> learned_step_spread(const std::vector<StepRow>& left_out, const Hardware& prior) {
  // Two sources tell nothing of a ninth decile.
  constexpr std::size_t fewest_sources = 3;
  std::vector<FittedParameter> learned;
  Hardware hardware = prior;
  for (const bool experts : {false, true}) {
    std::map<std::string, std::vector<double>> sources;
    for (const StepRow& row : left_out)
      if (row.experts == experts) sources[row.source].push_back(needed_spread(row));
    if (sources.size() < fewest_sources) continue;
    std::vector<std::pair<double, double>> weighed;
    for (const auto& [source, list] : sources)
      for (const double spread : list) weighed.emplace_back(spread, 1 / static_cast<double>(list.size()));
    FittedParameter p;
    p.path = experts ? "forecast.steps.experts" : "forecast.steps.dense";
    p.before = p.after = *hardware.find(p.path);
    p.after.value = std::max(0.02, ninth_decile(std::move(weighed)));
    p.error = p.error_by_data = 1 / std::sqrt(2 * static_cast<double>(sources.size()));
    p.after.low = p.after.value * std::exp(-quantile_95 * p.error);
    p.after.high = p.after.value * std::exp(quantile_95 * p.error);
    p.after.draws.clear();
    learned.push_back(std::move(p));
  }
  return learned;
}

void set_intervals_without_own(std::vector<LeftOutFit>& fits, const Hardware& prior) {
  for (LeftOutFit& mine : fits) {
    std::vector<StepRow> others;
    for (const LeftOutFit& other : fits)
      if (other.by == mine.by && other.group != mine.group)
        others.insert(others.end(), other.rows.begin(), other.rows.end());
    Hardware told = prior;
    for (const FittedParameter& p : learned_step_spread(others, prior)) *told.find(p.path) = p.after;
    for (StepRow& row : mine.rows)
      row.factor = std::exp(quantile_95 * std::hypot(row.deviation, told.step_spread.of(row.experts).value));
  }
}

}  // namespace fabricast
