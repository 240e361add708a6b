// Makes the scenario of a published row of serving.
//
// A row is one figure. Rows of one configuration yield the same text, by which they share a forecast
// (serving_validate.cpp).
#include <fmt/format.h>

#include <map>

#include "fabricast/core/names.hpp"
#include "serving_parts.hpp"

namespace fabricast {

namespace serving {

namespace {

void say_inference(Json& scenario, const ServingRow& row, MappedServing& mapped) {
  // Split and requests need the number of GPUs, so an unknown system ends the mapping here.
  const int gpus = say_system(scenario, row, mapped);
  Json workload = {{"kind", "inference"}};
  say_engine(workload, row, mapped);
  say_numbers(workload, row, mapped);
  if (gpus > 0) {
    say_split(workload, row, gpus, mapped);
    say_requests(workload, row, gpus, mapped);
  }
  scenario["workload"] = std::move(workload);
}

MappedServing mapped_row(const ServingRow& row) {
  MappedServing mapped;
  mapped.row = row;
  Json scenario = {{"fabricast", 1}};
  if (const auto metric = enum_from<ServingMetric>(row.metric)) {
    mapped.metric = *metric;
    if (row.phase == "collective")
      say_collective(scenario, row, mapped);
    else
      say_inference(scenario, row, mapped);
  } else {
    miss(mapped, "metric: unknown metric '" + row.metric + "'");
  }
  if (mapped.missing.empty()) {
    mapped.scenario = scenario.dump();
  } else {
    mapped.assumed.clear();
    mapped.unsaid.clear();
  }
  return mapped;
}

}  // namespace

}  // namespace serving

MappedServing map_serving_row(const ServingRow& row) { return serving::mapped_row(row); }

std::vector<MappedServing> map_serving_rows(const std::vector<ServingRow>& rows) {
  std::map<std::string, int> numbers;
  std::vector<MappedServing> mapped;
  for (const ServingRow& row : rows) {
    mapped.push_back(map_serving_row(row));
    mapped.back().id = fmt::format("{}/{}", row.source, ++numbers[row.source]);
  }
  return mapped;
}

}  // namespace fabricast
