// The validation of steps as JSON, whose keys are a contract (docs/formats.md).
#include <array>

#include "fabricast/calibrate/published_validation.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "mapping.hpp"

namespace fabricast {

namespace {

using published::Json;

/// Six digits are more than an error means.
double six(double value) { return rounded(value, 6); }

constexpr std::array<const char*, 4> outcome_names{"forecast", "refused", "not_said", "repeated"};

Json step_json_of(const StepRow& row) {
  return {{"published_s", six(row.measured.value)},
          {"forecast_s", six(row.forecast.value)},
          {"interval_90", six(row.factor)},
          {"error", six(row.error())}};
}

std::vector<Json> steps_of_json(const std::vector<StepRow>& rows) {
  std::vector<Json> list;
  for (const StepRow& row : rows) {
    Json j = {{"id", row.id}, {"source", row.source}, {"held_out", row.held_out}};
    j.update(step_json_of(row));
    list.push_back(std::move(j));
  }
  return list;
}

Json row_json(const PublishedResult& r) {
  const MappedRow& m = r.mapped;
  Json j = {{"id", m.id},
            {"source", m.row.source},
            {"line", m.row.where.line},
            {"experts", m.experts},
            {"outcome", outcome_names[static_cast<std::size_t>(r.outcome)]}};
  // A row without a forecast has the published time alone.
  if (r.outcome == RowOutcome::forecast)
    j.update(step_json_of(r.step));
  else {
    j["published_s"] = six(m.time.value);
    j["key"] = r.key;
  }
  if (!r.why.empty()) j["why"] = r.why;
  published::add_scenario(j, m);
  return j;
}

Json mean_json(const SourceMean& m) {
  return {{"sources", m.sources},    {"rows", m.rows},      {"mean", six(m.mean)},
          {"median", six(m.median)}, {"bias", six(m.bias)}, {"within", m.within}};
}

Json counts_json(const std::vector<KeyCount>& counts) {
  Json list = Json::array();
  for (const KeyCount& c : counts) list.push_back({{"key", c.key}, {"rows", c.rows}});
  return list;
}

Json published_json(const std::vector<PublishedResult>& results) {
  const std::vector<PublishedSummary> summaries = summarize_published(results);
  Json sources = Json::array(), rows = Json::array();
  for (const PublishedSummary& s : summaries)
    sources.push_back({{"source", s.source},
                       {"experts", s.experts},
                       {"rows", s.rows},
                       {"forecast", s.forecast},
                       {"refused", s.refused},
                       {"not_said", s.unsayable},
                       {"repeated", s.repeated},
                       {"mean", six(s.mean)},
                       {"median", six(s.median)},
                       {"bias", six(s.bias)},
                       {"worst", six(s.worst)},
                       {"within", s.within}});
  for (const PublishedResult& r : results) rows.push_back(row_json(r));
  return {{"sources", std::move(sources)},
          {"dense", mean_json(mean_over_sources(summaries, false))},
          {"experts", mean_json(mean_over_sources(summaries, true))},
          {"missing", counts_json(missing_keys(results))},
          {"refusals", counts_json(refusals(results))},
          {"without", counts_json(unsaid_settings(results))},
          {"rows", std::move(rows)}};
}

}  // namespace

std::string steps_json(const StepValidation& steps, const std::vector<PublishedResult>& published) {
  Json j = {{"steps", steps_of_json(steps.rows)}};
  // A step appears once in the fit, and once more for each kind of group that is left out, named in `by`.
  for (const LeftOutFit& fit : steps.left_out)
    for (Json& row : steps_of_json(fit.rows)) {
      row["by"] = name_of(fit.by);
      row["without"] = fit.group;
      j["left_out"].push_back(std::move(row));
    }
  if (!published.empty()) j["published"] = published_json(published);
  return j.dump(2) + "\n";
}

}  // namespace fabricast
