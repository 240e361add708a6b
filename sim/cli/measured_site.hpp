// `--measured` and `--profile`, for verbs whose forecasts go on from what was measured.
#pragma once

#include "fabricast/report/interval.hpp"
#include "options.hpp"

namespace fabricast {

void add_measured_option(Options& options);

/// What was measured of the site: by `--measured`, by the scenario and by the profiles that lie over it.
/// \throws UserError for what can not be read, and where the workload is not a collective
/// \param further  more files, as of `--measured`
MeasuredSite site_of(const Options& options, const World& world, const RunOptions& how,
                     const std::vector<std::string>& further = {});

}  // namespace fabricast
