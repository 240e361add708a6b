// Measurements of the site, for verbs whose forecasts are conditioned on them.
#pragma once

#include "fabricast/report/interval.hpp"
#include "options.hpp"

namespace fabricast {

/// Adds `--measured`.
void add_measured_option(Options& options);

/// The measurements of the site from `--measured`, from `measured` in the scenario, and from the cases in its fitted
/// profiles. Empty for workloads other than collectives.
/// \param further  more files in the formats of `--measured`
/// \throws UserError if a file cannot be read, or if measured files are given for another workload or engine
MeasuredSite site_of(const Options& options, const World& world, const RunOptions& how,
                     const std::vector<std::string>& further = {});

}  // namespace fabricast
