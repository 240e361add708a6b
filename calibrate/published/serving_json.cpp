// The validation of serving as JSON, whose keys are a contract (docs/formats.md).
#include <array>

#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "mapping.hpp"

namespace fabricast {

namespace serving {

namespace {

using published::Json;

/// Six digits are more than an error means.
double six(double value) { return rounded(value, 6); }

constexpr std::array<const char*, 4> outcome_names{"forecast", "refused", "not_said", "repeated"};

Json row_json(const ServingResult& r) {
  const MappedServing& m = r.mapped;
  Json j = {{"id", m.id},
            {"source", m.row.source},
            {"line", m.row.where.line},
            {"experts", m.experts},
            {"metric", m.row.metric},
            {"published", six(m.row.value)},
            {"outcome", outcome_names[static_cast<std::size_t>(r.outcome)]}};
  // A row without a forecast has the key and the reason instead.
  if (r.outcome == RowOutcome::forecast) {
    j["forecast"] = six(r.forecast);
    j["error"] = six(r.error());
    j["interval_90"] = {six(r.forecast / r.factor), six(r.forecast * r.factor)};
    j["within"] = r.within();
  } else {
    j["key"] = r.key;
    j["why"] = r.why;
  }
  published::add_scenario(j, m);
  return j;
}

Json summary_json(const ServingSummary& s) {
  Json j = {{"source", s.source},     {"experts", s.experts}, {"metric", name_of(s.metric)}, {"rows", s.rows},
            {"forecast", s.forecast}, {"refused", s.refused}, {"not_said", s.unsayable}};
  if (s.forecast > 0)
    j.update({{"mean", six(s.mean)},
              {"median", six(s.median)},
              {"bias", six(s.bias)},
              {"worst", six(s.worst)},
              {"within", s.within}});
  return j;
}

Json counts_json(const std::vector<KeyCount>& counts) {
  Json list = Json::array();
  for (const KeyCount& c : counts) list.push_back({{"key", c.key}, {"rows", c.rows}});
  return list;
}

}  // namespace

}  // namespace serving

std::string serving_json(const std::vector<ServingResult>& results) {
  using namespace serving;
  const std::vector<ServingSummary> summaries = summarize_serving(results);
  Json sources = Json::array(), means = Json::array(), rows = Json::array();
  for (const ServingSummary& s : summaries) sources.push_back(summary_json(s));
  for (const ServingMean& m : serving_means(summaries))
    means.push_back({{"experts", m.experts},
                     {"metric", name_of(m.metric)},
                     {"sources", m.sources},
                     {"rows", m.rows},
                     {"within", m.within},
                     {"mean", six(m.mean)},
                     {"median", six(m.median)},
                     {"bias", six(m.bias)}});
  for (const ServingResult& r : results) rows.push_back(row_json(r));
  const Json j = {{"serving",
                   {{"sources", std::move(sources)},
                    {"means", std::move(means)},
                    {"missing", counts_json(missing_keys(results))},
                    {"refusals", counts_json(refusals(results))},
                    {"without", counts_json(unsaid_settings(results))},
                    {"rows", std::move(rows)}}}};
  return j.dump(2) + "\n";
}

}  // namespace fabricast
