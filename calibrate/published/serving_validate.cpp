// Forecasts published rows of serving, and summarizes errors by source, metric and kind of model. Rows of one scenario
// share a forecast, because a simulation of requests takes far longer than reading its figures.
#include <algorithm>
#include <cmath>
#include <map>

#include "../validate/median.hpp"
#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/report/serving_interval.hpp"
#include "fabricast/report/validated.hpp"
#include "mapping.hpp"
#include "serving_spread.hpp"
#include "source_mean.hpp"

namespace fabricast {

namespace serving {

namespace {

/// A scenario that is forecast once for all its rows.
struct Shared {
  const MappedServing* row = nullptr;  ///< the first of its rows
  ServingFigures figures{};
  bool unvalidated = false;
  std::string key, why;  ///< of a refusal
};

void forecast(Shared& shared, const Hardware& hardware) try {
  shared.figures = serving_figures(shared.row->scenario, shared.row->id, hardware);
  // By the shipped parameters: in a fit without a source, its engine would count as one that nobody has measured.
  shared.unvalidated = !not_validated(parse_scenario(shared.row->scenario, shared.row->id).scenario).empty();
} catch (const UserError& error) {
  const Diagnostic& first = error.diagnostics().front();
  // A refusal is counted by the key that is at fault.
  shared.key = first.path.empty() ? "scenario" : first.path;
  shared.why = first.message;
}

void settle(ServingResult& r, const Shared& shared) {
  if (shared.key.empty()) {
    r.forecast = shared.figures[static_cast<std::size_t>(r.mapped.metric)];
    r.unvalidated = shared.unvalidated;
    return;
  }
  r.outcome = RowOutcome::refused;
  r.key = shared.key;
  r.why = shared.why;
}

}  // namespace

}  // namespace serving

std::vector<ServingResult> validate_serving(const std::vector<MappedServing>& rows, const Hardware& hardware,
                                            const std::function<void(double)>& progress, int threads) {
  std::vector<serving::Shared> shared;
  std::map<std::string_view, std::size_t> known;
  // Equal text is the same scenario.
  for (const MappedServing& row : rows)
    if (!row.scenario.empty() && known.emplace(row.scenario, shared.size()).second)
      shared.push_back({&row, {}, {}, {}, {}});
  TaskProgress tasks(progress, shared.size());
  in_parallel(shared.size(), thread_count(threads), [&](std::size_t i) {
    stop_if_requested();
    serving::forecast(shared[i], hardware);
    tasks.one_done();
  });
  std::vector<ServingResult> results;
  for (const MappedServing& row : rows) {
    ServingResult& r = results.emplace_back();
    r.mapped = row;
    if (!row.scenario.empty()) {
      serving::settle(r, shared[known.at(row.scenario)]);
      continue;
    }
    r.outcome = RowOutcome::unsayable;
    r.why = row.missing;
    r.key = row.missing.substr(0, row.missing.find(':'));
  }
  for (ServingResult& r : results) set_interval(r, hardware.serving_spread);
  return results;
}

void set_interval(ServingResult& result, const ServingSpread& spread) {
  const ServingDeviations d = serving_deviations(spread, result.mapped.experts, result.mapped.apart);
  const double times = result.unvalidated ? spread.unvalidated.value : 1;
  result.factor = std::exp(quantile_95 * times * deviation_of(d, result.mapped.metric));
}

std::vector<ServingSummary> summarize_serving(const std::vector<ServingResult>& results) {
  std::vector<ServingSummary> list;
  std::vector<std::vector<double>> errors;
  for (const ServingResult& r : results) {
    const MappedServing& m = r.mapped;
    const auto at = std::find_if(list.begin(), list.end(), [&](const ServingSummary& s) {
      return s.source == m.row.source && s.metric == m.metric && s.experts == m.experts;
    });
    const auto i = static_cast<std::size_t>(at - list.begin());
    if (at == list.end()) {
      list.push_back({m.row.source, m.metric, m.experts});
      errors.emplace_back();
    }
    ServingSummary& s = list[i];
    ++s.rows;
    s.refused += r.outcome == RowOutcome::refused;
    s.unsayable += r.outcome == RowOutcome::unsayable;
    if (r.outcome != RowOutcome::forecast) continue;
    ++s.forecast;
    s.mean += std::abs(r.error());
    s.bias += r.error();
    s.within += r.within();
    if (std::abs(r.error()) > std::abs(s.worst)) s.worst = r.error();
    errors[i].push_back(std::abs(r.error()));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].forecast == 0) continue;
    list[i].mean /= static_cast<double>(list[i].forecast);
    list[i].bias /= static_cast<double>(list[i].forecast);
    list[i].median = median_of(errors[i]);
  }
  return list;
}

std::vector<ServingMean> serving_means(const std::vector<ServingSummary>& summaries) {
  std::vector<ServingMean> means;
  for (const bool experts : {false, true})
    for (std::size_t metric = 0; metric < EnumNames<ServingMetric>::names.size(); ++metric) {
      ServingMean m;
      m.metric = static_cast<ServingMetric>(metric);
      m.experts = experts;
      published::average(m, summaries,
                         [&](const ServingSummary& s) { return s.experts == experts && s.metric == m.metric; });
      if (m.sources > 0) means.push_back(m);
    }
  return means;
}

std::vector<KeyCount> missing_keys(const std::vector<ServingResult>& results) { return published::missing_of(results); }

std::vector<KeyCount> refusals(const std::vector<ServingResult>& results) { return published::refusals_of(results); }

std::vector<KeyCount> unsaid_settings(const std::vector<ServingResult>& results) {
  return published::unsaid_of(results);
}

}  // namespace fabricast
