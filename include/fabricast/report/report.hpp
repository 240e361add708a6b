// Writers of a forecast: text in the look of nccl-tests, JSON and CSV by contract. All print from one record.
#pragma once

#include <string>

#include "fabricast/report/forecast.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

std::string version_text();

std::string forecast_text(const World& world, const Forecast& forecast);
std::string forecast_json(const World& world, const Forecast& forecast);
std::string forecast_csv(const World& world, const Forecast& forecast);

/// Where the time of one size goes, what binds it, what NCCL rejected, and what would help.
/// \param forecast  of one size
/// \param weighed   of that size by run_candidates
std::string explain_text(const World& world, const Forecast& forecast, const Forecast& weighed,
                         const std::vector<WhatIf>& what_ifs);
std::string explain_json(const World& world, const Forecast& forecast, const Forecast& weighed,
                         const std::vector<WhatIf>& what_ifs);

std::string inspect_fabric_text(const World& world);
std::string inspect_plan_text(const World& world, std::int64_t bytes);
std::string inspect_schedule_text(const World& world, std::int64_t bytes, int channel, int rank);

}  // namespace fabricast
