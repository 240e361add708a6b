// The validation as JSON, whose keys are a contract (docs/formats.md).
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/validate.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

/// Six digits are more than an error means.
double rounded(double value) { return fabricast::rounded(value, 6); }

Json by_band(const BandValues& values) {
  Json list = Json::array();
  for (const double x : values) list.push_back(rounded(x));
  return list;
}

Json table_json(const ErrorTable& table) {
  Json systems = Json::object();
  for (const auto& [system, cells] : table.systems) {
    Json own = Json::array();
    // null where a system has no row in a band: an error of 0 would mean a perfect forecast.
    for (const ErrorTable::Cell& c : cells)
      own.push_back(c.rows ? Json{{"error", rounded(c.error)}, {"bias", rounded(c.bias)}, {"rows", c.rows}} : Json());
    systems[system] = std::move(own);
  }
  Json intervals = Json::array();
  for (const auto& interval : table.median_interval)
    intervals.push_back(interval ? Json{rounded(interval->low), rounded(interval->high)} : Json());
  Json j = {{"rows", table.rows},
            {"median", by_band(table.median)},
            {"median_interval", std::move(intervals)},
            {"mean", by_band(table.mean)},
            {"worst_decile", by_band(table.worst_decile)}};
  if (table.has_intervals()) {
    j["covered"] = by_band(table.covered);
    j["interval"] = by_band(table.width);
  }
  const BesideNccl& b = table.beside_nccl;
  j["beside_nccl"] = {{"ours", by_band(b.ours)}, {"nccl", by_band(b.nccl)}, {"nearer", b.nearer}, {"cells", b.cells}};
  j["systems"] = std::move(systems);
  return j;
}

Json change_json(const ErrorTable& before, const ErrorTable& after) {
  return {{"before", table_json(before)}, {"after", table_json(after)}};
}

Json levels_json(const LeaveOneOut& l) {
  Json causes = Json::array();
  for (const LevelCause& c : l.causes)
    causes.push_back({{"cause", c.name},
                      {"systems", c.having},
                      {"others", c.other},
                      {"level", by_band(c.with)},
                      {"level_of_others", by_band(c.without)}});
  return {{"as_is", by_band(l.levels.as_is)},
          {"one_factor", by_band(l.levels.one_factor)},
          {"factor_per_band", by_band(l.levels.factor_per_band)},
          {"p90", by_band(l.levels.nine_of_ten)},
          {"causes", std::move(causes)}};
}

Json row_json(const ForecastOfCase::Row& r) {
  Json row = {{"bytes", r.bytes},
              {"measured_us", rounded(microseconds(r.measured))},
              {"forecast_us", rounded(microseconds(r.forecast))},
              {"algorithm", name_of(r.algorithm)},
              {"protocol", name_of(r.protocol)},
              {"stands_in", !r.served},
              {"nccl_estimate_us", r.nccl > Seconds{} ? Json(rounded(microseconds(r.nccl))) : Json()}};
  // A factor of 1 means that no interval was computed.
  if (r.factor > 1) row["interval_factor"] = rounded(r.factor);
  return row;
}

Json cases_json(const std::vector<CaseResult>& cases) {
  Json list = Json::array();
  for (const CaseResult& c : cases) {
    Json rows = Json::array();
    for (const auto& row : c.forecast.rows) rows.push_back(row_json(row));
    list.push_back({{"id", c.id}, {"system", c.system}, {"rows", std::move(rows)}});
  }
  return list;
}

Json pair_json(const ConfigurationPair& p) {
  return {{"aspect", p.aspect}, {"system", p.system}, {"collective", p.collective}, {"where", p.where},
          {"a", p.a},           {"b", p.b},           {"sizes", p.counted()},       {"right", p.right()}};
}

}  // namespace

std::string validation_json(const Validation& v) {
  Json j = {{"fabricast", version_text()}, {"bands", Json::array()}, {"errors", table_json(v.errors)}};
  for (const Band& b : bands) j["bands"].push_back(b.name);
  for (const LeaveOneOut& l : v.leave_out)
    j["leave_out"][std::string(name_of(l.by))] = {{"in_sample", table_json(l.in_sample)},
                                                  {"left_out", table_json(l.left_out)},
                                                  {"levels", levels_json(l)},
                                                  {"cases", cases_json(l.cases)}};
  if (v.calibrated)
    j["calibrated"] = {{"larger_jobs", change_json(v.calibrated->larger_before, v.calibrated->larger_after)},
                       {"other_sizes", change_json(v.calibrated->sizes_before, v.calibrated->sizes_after)}};
  j["pairs"] = Json::array();
  j["failed"] = Json::array();
  for (const ConfigurationPair& p : v.pairs) j["pairs"].push_back(pair_json(p));
  j["cases"] = cases_json(v.cases);
  for (const auto& [id, why] : v.failed) j["failed"].push_back({{"id", id}, {"why", why}});
  return j.dump(1) + "\n";
}

}  // namespace fabricast
