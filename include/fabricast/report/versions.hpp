// Where NCCL's version is not known: the same forecast for each version of the range that the model tells apart.
#pragma once

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// Fills `forecast.versions` and each row's `by_version` if the scenario gives a range of versions, or none.
/// \throws UserError where one of the versions would stop
void forecast_versions(const World& world, Forecast& forecast, const RunOptions& options = {});

/// Of a row with versions; the oldest of equals.
const VersionTime& fastest_version(const ForecastRow& row);
const VersionTime& slowest_version(const ForecastRow& row);

}  // namespace fabricast
