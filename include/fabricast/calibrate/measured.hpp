// What a user has measured of a site, from files: rows that forecasts go on from, and that `check` judges.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/import.hpp"
#include "fabricast/report/interval.hpp"

namespace fabricast {

/// The collectives of a log, each size once: of a size that ran again the fastest, the least disturbed. Tables on other
/// numbers of ranks are of as many of the scenario's nodes.
/// \param path  for messages
/// \throws UserError if it holds no collective, or ranks that no number of the scenario's nodes makes
std::vector<MeasuredSeries> series_of_log(const Imported& log, const std::string& path, const World& world);

/// The scenario's own rows (`measured:`), as they are of its hosts.
std::vector<MeasuredSeries> series_of_scenario(const World& world);

/// Cases of the scenario's kind of GPU, with its profile.
/// \throws UserError for another one
std::vector<MeasuredSeries> series_of_cases(const std::vector<MeasuredCase>& cases, const World& world);

/// Rows that a fitted profile has seen; none of one without.
std::vector<MeasuredCase> cases_in_profile(const std::string& text, const std::string& path);

/// Whether a text, or its first MiB, is of a file of measured cases, not of a log.
bool holds_cases(const std::string& text);

}  // namespace fabricast
