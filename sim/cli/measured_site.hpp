// Measurements of the site, for verbs whose forecasts are conditioned on them.
#pragma once

#include "fabricast/ask/logs.hpp"
#include "options.hpp"

namespace fabricast {

/// Adds `--measured`.
void add_measured_option(Options& options);

/// The files of `--measured`. Lines of logs that cannot be understood are printed as warnings.
/// \param further  more files in the same formats
/// \throws UserError if a file cannot be read
std::vector<MeasuredFile> measured_files(const Options& options, const std::vector<std::string>& further = {});

/// The measurements of the site from these files, the scenario and its profiles (ask/logs.hpp).
MeasuredSite site_of(const Options& options, const World& world, const RunOptions& how);

}  // namespace fabricast
