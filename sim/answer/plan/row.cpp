// Rows as messages between ranks. The fields of `sizes` are a list without keys: both ends are the same program, and
// studies have many rows.
#include "fabricast/plan/row.hpp"

#include <nlohmann/json.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/plan/metric.hpp"

namespace fabricast {

using Json = nlohmann::ordered_json;

std::string row_to_json(const SweepRow& row) {
  Json values = Json::array();
  for (const auto& value : row.values) values.push_back(value ? Json(*value) : Json());
  Json sizes = Json::array();
  for (const SizeResult& s : row.sizes)
    sizes.push_back({s.bytes, s.time, s.time_p95, s.time_worst, s.interval, s.bus_bandwidth, s.algorithm, s.protocol,
                     s.bottleneck});
  return Json{{"row", row.row}, {"state", name_of(row.state)}, {"why", row.why}, {"values", values}, {"sizes", sizes}}
      .dump();
}

SweepRow row_from_json(const std::string& text) {
  try {
    const Json j = Json::parse(text);
    SweepRow row;
    row.row = j.at("row");
    row.why = j.at("why");
    const auto state = enum_from<RowState>(j.at("state").get<std::string>());
    FABRICAST_CHECK(state, "unknown state of a row");
    row.state = *state;
    for (const Json& value : j.at("values"))
      row.values.push_back(value.is_null() ? std::nullopt : std::optional(value.get<double>()));
    FABRICAST_CHECK(row.values.empty() || row.values.size() == metrics().size(),
                    "a row has a different number of metrics");
    for (const Json& s : j.at("sizes"))
      row.sizes.push_back({s.at(0), s.at(1), s.at(2), s.at(3), s.at(4), s.at(5), s.at(6), s.at(7), s.at(8)});
    return row;
  } catch (const Json::exception& e) { throw InternalError(std::string("not a row: ") + e.what()); }
}

}  // namespace fabricast
