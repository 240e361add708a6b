// Parts of forecasts that several questions need.
#pragma once

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// By NCCL's version where the scenario leaves it open.
Forecast forecast_all_versions(const World& world, const RunOptions& how);

}  // namespace fabricast
