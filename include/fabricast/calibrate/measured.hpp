// Measured rows of a site from logs, scenarios, cases and profiles. Forecasts are conditioned on them
// (report/interval.hpp), and `check` judges them.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/import.hpp"
#include "fabricast/report/interval.hpp"

namespace fabricast {

/// The collectives of a log, one series per table of nccl-tests or CSV. If a size ran several times, the fastest run
/// counts, because it was disturbed least. A table on a different number of ranks belongs to that many of the
/// scenario's nodes. Settings that the scenario leaves open (ranks per process, NCCL's version, iterations) are taken
/// from the log. A table without an operation is of the scenario's collective.
/// \param path  for messages
/// \throws UserError if the log holds no collective, or if its ranks are not a multiple of the scenario's GPUs per node
std::vector<MeasuredSeries> series_of_log(const Imported& log, const std::string& path, const World& world);

/// The scenario's own rows (`measured:`), on all of its nodes. Bus bandwidths become times.
std::vector<MeasuredSeries> series_of_scenario(const World& world);

/// One series per case, with the scenario of the case and the hardware parameters of the world.
/// \throws UserError if a case is from another kind of GPU than the world's, or cannot run
std::vector<MeasuredSeries> series_of_cases(const std::vector<MeasuredCase>& cases, const World& world);

/// The measured cases in a fitted profile; none if it has none.
/// \param text  the profile (JSON)
/// \param path  for messages
/// \throws UserError if the text is not JSON or a case is invalid
std::vector<MeasuredCase> cases_in_profile(const std::string& text, const std::string& path);

/// Whether a text is a file of measured cases and not a log. The first MiB is enough.
bool holds_cases(const std::string& text);

}  // namespace fabricast
