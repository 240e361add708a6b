// The forecast for each version of NCCL, if the scenario states a range of versions or none.
//
// Neighbouring versions whose forecasts are the same in all rows share an entry: an entry holds from its version on,
// until the next entry. The forecast itself is that of the main version (main_version).
//
// Results do not depend on the number of threads. Safe to call concurrently for different forecasts.
#pragma once

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// Sets `versions` of the forecast and `by_version` of each row. Does nothing if the version is known.
/// \throws UserError if one of the versions would stop with an error; Interrupted on Ctrl-C
void forecast_versions(Forecast& forecast, const RunOptions& options = {});

/// The entry with the lowest time; the oldest of equal ones. \pre the row has versions
const VersionTime& fastest_version(const ForecastRow& row);
/// The entry with the highest time; the oldest of equal ones. \pre the row has versions
const VersionTime& slowest_version(const ForecastRow& row);

}  // namespace fabricast
