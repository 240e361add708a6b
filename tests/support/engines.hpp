// A scenario's times under one engine.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"

namespace fabricast::test {

inline std::vector<ForecastRow> rows_under(const std::string& engine, const std::string& text) {
  return run_forecast(build_world(parse_scenario(text, "engines.yaml", {"network.engine=" + engine}).scenario)).rows;
}

}  // namespace fabricast::test
