// Writers of a forecast: text in the look of nccl-tests, JSON and CSV by contract. All print from one record.
#pragma once

#include <string>

#include "fabricast/report/forecast.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

std::string version_text();

/// What the forecast is beside, as a line of context; empty if the scenario has no other jobs.
std::string beside_line(const World& world);

std::string forecast_text(const World& world, const Forecast& forecast);
std::string forecast_json(const World& world, const Forecast& forecast);
std::string forecast_csv(const World& world, const Forecast& forecast);

/// What `explain` found out about one size.
struct Explanation {
  Forecast forecast;             ///< of one size
  Forecast weighed;              ///< of that size by run_candidates
  std::vector<WhatIf> what_ifs;  ///< what would help there
  std::optional<Advice> advice;  ///< for all sizes of the scenario, if it was asked for
};

/// Where the time of one size goes, what binds it, what NCCL rejected, and what would help.
std::string explain_text(const World& world, const Explanation& explanation);
std::string explain_json(const World& world, const Explanation& explanation);

/// What to set, with the `--set` of each.
std::string advice_text(const Advice& advice);
/// The same as a shell script.
std::string env_script(const World& world, const Advice& advice);
/// Text of the user's for a comment: one line, and not a long one.
std::string comment_text(const std::string& text);

std::string inspect_fabric_text(const World& world);
std::string inspect_plan_text(const World& world, std::int64_t bytes);
std::string inspect_schedule_text(const World& world, std::int64_t bytes, int channel, int rank);

}  // namespace fabricast
