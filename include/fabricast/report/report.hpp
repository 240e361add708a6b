// Writers of a collective's forecast: text in the style of nccl-tests, JSON and CSV with stable keys
// (docs/formats.md). All of them print the same record (report/forecast.hpp), so they cannot disagree.
//
// In text, lines that start with # are context. Times are printed in microseconds, rates in 10^9 bytes per second,
// sizes in bytes, as nccl-tests does.
//
// Pure functions that return text; safe to call concurrently. They neither simulate nor write files.
#pragma once

#include <string>

#include "fabricast/report/forecast.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

/// The version of fabricast, `MAJOR.MINOR.PATCH`.
std::string version_text();

/// The first line of a text: the version, and what the text is about, such as the name of a scenario. A user's text
/// cannot break the line (comment_text).
std::string heading_line(const std::string& subject);

/// A line of context that names the other jobs and the background traffic of the scenario, and says whether they were
/// left out. Empty if there are none.
std::string beside_line(const World& world);

/// A table with a row per size.
std::string forecast_text(const Forecast& forecast);
/// The forecast as JSON. Numbers have ten digits.
std::string forecast_json(const Forecast& forecast);
/// The rows as CSV.
std::string forecast_csv(const Forecast& forecast);

/// The answer of `explain` for one size.
struct Explanation {
  Forecast forecast;             ///< of one size
  Forecast weighed;              ///< the alternatives of that size, by run_candidates
  std::vector<WhatIf> what_ifs;  ///< what would help at that size
  std::optional<Advice> advice;  ///< for all sizes of the scenario; only with `--advise`
};

/// Where the time of one size goes, what limits it, what NCCL considered, and what would help.
/// \pre explanation.forecast has a row
std::string explain_text(const Explanation& explanation);
/// The same as JSON.
std::string explain_json(const Explanation& explanation);

/// Recommended settings of NCCL with their gains and their `--set` words.
std::string advice_text(const Advice& advice);
/// The same as a shell script that exports the variables.
std::string env_script(const Advice& advice);
/// A user's text made safe for a comment: one line of at most 100 characters without control characters.
std::string comment_text(const std::string& text);

/// `inspect` of the fabric: node, links, switches and cables.
std::string inspect_fabric_text(const World& world);
/// `inspect` of the plan for a size: channels, chunks, graphs and NCCL's estimates.
/// \throws UserError as plan_workload
std::string inspect_plan_text(const World& world, std::int64_t bytes);
/// `inspect` of the schedule: the first 40 steps of a rank's workers on one channel.
/// \throws UserError if the plan has no such channel or no schedule, or there is no such rank
std::string inspect_schedule_text(const World& world, std::int64_t bytes, int channel, int rank);

}  // namespace fabricast
