// JSON and CSV of a study. The formats are a contract: docs/formats.md, plan.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fabricast/core/text.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/plan/report.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

Json size_json(const SizeResult& s) {
  return {{"bytes", s.bytes},          {"time_us", s.time},
          {"time_us_p95", s.time_p95}, {"time_us_worst", s.time_worst},
          {"interval", s.interval},    {"busbw_gbps", s.bus_bandwidth},
          {"algorithm", s.algorithm},  {"protocol", s.protocol},
          {"bottleneck", s.bottleneck}};
}

// All rows appear, in the order of the study: refused ones with the reason, rows that were not run with their axes
// only. `set` has the words that make the row a scenario for `fabricast run`.
Json row_json(const PlanReport& r, const SweepRow& row) {
  Json j = {{"row", row.row}, {"state", name_of(row.state)}};
  Json axes = Json::object();
  const std::vector<std::size_t> choices = choices_of(r.study, row.row);
  for (std::size_t a = 0; a < choices.size(); ++a)
    axes[r.study.axes[a].name] = r.study.axes[a].values[choices[a]].label;
  j["axes"] = std::move(axes);
  j["set"] = words_of(r.study, row.row);
  if (row.state == RowState::refused) j["why"] = row.why;
  if (row.state != RowState::done) return j;
  j["kept"] = static_cast<bool>(r.decision.kept[row.row]);
  j["pareto"] = static_cast<bool>(r.decision.on_front[row.row]);
  Json values = Json::object();
  for (std::size_t m = 0; m < metrics().size(); ++m)
    if (row.values[m]) values[std::string(metrics()[m].name)] = *row.values[m];
  j["metrics"] = std::move(values);
  if (!row.sizes.empty()) {
    Json sizes = Json::array();
    for (const SizeResult& s : row.sizes) sizes.push_back(size_json(s));
    j["sizes"] = std::move(sizes);
  }
  return j;
}

/// A cell of CSV, in quotes if it needs them [RFC4180].
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return double_quoted(text);
}

}  // namespace

std::string plan_json(const PlanReport& r) {
  const Objective& o = r.decision.objective;
  Json j;
  j["fabricast"] = version_text();
  j["scenario"] = r.study.file;
  j["set"] = r.study.overrides;
  Json axes = Json::array();
  for (const SweepAxis& axis : r.study.axes) {
    Json values = Json::array();
    for (const SweepValue& value : axis.values) values.push_back({{"label", value.label}, {"set", value.set}});
    axes.push_back({{"name", axis.name}, {"values", std::move(values)}});
  }
  j["sweep"] = std::move(axes);
  Json keep = Json::array(), front = Json::array();
  for (const Condition& c : o.keep) keep.push_back(c.text);
  for (const std::size_t m : o.front) front.push_back(metrics()[m].name);
  j["objective"] = {{o.minimize ? "minimize" : "maximize", metrics()[o.metric].name},
                    {"keep", std::move(keep)},
                    {"pareto", std::move(front)}};
  j["notes"] = r.notes;
  j["answer"] = answer_text(r);
  j["best"] = r.decision.best ? Json(*r.decision.best) : Json();
  Json rows = Json::array();
  for (const SweepRow& row : r.rows) rows.push_back(row_json(r, row));
  j["rows"] = std::move(rows);
  return j.dump(1) + "\n";
}

// The columns are all metrics, whatever the study asks for, so that files of several studies can be joined. Cells
// without a value are empty.
std::string plan_csv(const PlanReport& r) {
  std::string out = "row,state";
  for (const SweepAxis& axis : r.study.axes) out += "," + cell(axis.name);
  for (const Metric& metric : metrics()) out += fmt::format(",{}", metric.name);
  out += ",kept,pareto,why\n";
  for (const SweepRow& row : r.rows) {
    out += fmt::format("{},{}", row.row, name_of(row.state));
    const std::vector<std::size_t> choices = choices_of(r.study, row.row);
    for (std::size_t a = 0; a < choices.size(); ++a) out += "," + cell(r.study.axes[a].values[choices[a]].label);
    for (std::size_t m = 0; m < metrics().size(); ++m)
      out += row.values.empty() || !row.values[m] ? "," : fmt::format(",{:.10g}", *row.values[m]);
    const bool done = row.state == RowState::done;
    out += fmt::format(",{},{},{}\n", done ? fmt::to_string(int{r.decision.kept[row.row]}) : "",
                       done ? fmt::to_string(int{r.decision.on_front[row.row]}) : "", cell(row.why));
  }
  return out;
}

}  // namespace fabricast
