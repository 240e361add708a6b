// The spread of the step model, learned from steps that no fit has seen. For a row whose parameters explain a deviation
// s:
//
//   needed = sqrt( max(0, (ln(forecast / measured) / 1.645)^2 - s^2) )
//
// The spread is the 90 % quantile of these, each source counted once, for dense and for MoE models
// (fit/source_spread.hpp).
#include "step_spread.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "../fit/source_spread.hpp"
#include "fabricast/report/step_interval.hpp"

namespace fabricast {

namespace {

/// The spread that, together with that of the parameters, makes the interval of a row just reach the measured time.
double needed_spread(const StepRow& row) {
  const double reach = std::log(row.forecast / row.measured) / quantile_95;
  return std::sqrt(std::max(0.0, reach * reach - row.deviation * row.deviation));
}

}  // namespace

std::vector<FittedParameter> learned_step_spread(const std::vector<StepRow>& left_out, const Hardware& prior) {
  // Two sources do not determine a ninth decile.
  constexpr std::size_t fewest_sources = 3;
  // Below 2 %, the noise that a step is assumed to have by default, an error says nothing about the model.
  constexpr double least = 0.02;
  std::vector<FittedParameter> learned;
  for (const bool experts : {false, true}) {
    std::map<std::string, std::vector<double>> needed;
    for (const StepRow& row : left_out)
      if (row.experts == experts) needed[row.source].push_back(std::max(least, needed_spread(row)));
    if (needed.size() < fewest_sources) continue;
    const char* path = experts ? "forecast.steps.experts" : "forecast.steps.dense";
    learned.push_back(spread_over_sources(path, prior, needed));
  }
  return learned;
}

void set_intervals_without_own(std::vector<LeftOutFit>& fits, const Hardware& prior) {
  for (LeftOutFit& mine : fits) {
    std::vector<StepRow> others;
    // Only groups of the same kind: in another kind the rows of this group may be among those left out.
    for (const LeftOutFit& other : fits)
      if (other.by == mine.by && other.group != mine.group)
        others.insert(others.end(), other.rows.begin(), other.rows.end());
    Hardware learned = prior;
    for (const FittedParameter& p : learned_step_spread(others, prior)) *learned.find(p.path) = p.after;
    for (StepRow& row : mine.rows)
      row.factor = std::exp(quantile_95 * std::hypot(row.deviation, learned.step_spread.of(row.experts).value));
  }
}

}  // namespace fabricast
