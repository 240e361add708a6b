// Errors of published steps by source, and means over sources.
//
//   error = forecast / published - 1,   mean = mean |error|,   bias = mean error      of one source and kind of model
//
// Means over sources average these, so a table with hundreds of rows counts as much as one with ten.
#include <algorithm>
#include <cmath>

#include "../validate/median.hpp"
#include "fabricast/calibrate/published_validation.hpp"
#include "mapping.hpp"
#include "source_mean.hpp"

namespace fabricast {

namespace {

void add_error(PublishedSummary& s, const StepRow& step) {
  s.within += step.within();
  s.mean += std::abs(step.error());
  s.bias += step.error();
  if (std::abs(step.error()) > std::abs(s.worst)) s.worst = step.error();
}

}  // namespace

std::vector<PublishedSummary> summarize_published(const std::vector<PublishedResult>& results) {
  std::vector<PublishedSummary> list;
  std::vector<std::vector<double>> errors;
  for (const PublishedResult& r : results) {
    const std::string& source = r.mapped.row.source;
    std::size_t i = 0;
    while (i < list.size() && (list[i].source != source || list[i].experts != r.mapped.experts)) ++i;
    if (i == list.size()) {
      list.emplace_back();
      list[i].source = source;
      list[i].experts = r.mapped.experts;
      errors.emplace_back();
    }
    PublishedSummary& s = list[i];
    ++s.rows;
    switch (r.outcome) {
      case RowOutcome::forecast:
        ++s.forecast;
        add_error(s, r.step);
        errors[i].push_back(std::abs(r.step.error()));
        break;
      case RowOutcome::refused: ++s.refused; break;
      case RowOutcome::unsayable: ++s.unsayable; break;
      case RowOutcome::repeated: ++s.repeated; break;
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].forecast == 0) continue;
    list[i].mean /= static_cast<double>(list[i].forecast);
    list[i].bias /= static_cast<double>(list[i].forecast);
    list[i].median = median_of(errors[i]);
  }
  return list;
}

SourceMean mean_over_sources(const std::vector<PublishedSummary>& summaries, bool experts) {
  SourceMean m;
  published::average(m, summaries, [&](const PublishedSummary& s) { return s.experts == experts; });
  return m;
}

std::vector<KeyCount> missing_keys(const std::vector<PublishedResult>& results) {
  return published::missing_of(results);
}

std::vector<KeyCount> refusals(const std::vector<PublishedResult>& results) { return published::refusals_of(results); }

std::vector<KeyCount> unsaid_settings(const std::vector<PublishedResult>& results) {
  return published::unsaid_of(results);
}

}  // namespace fabricast
