// How far a forecast may be off: its 90 % interval, from what is not known of the hardware and of the model.
//
//   ln(measured / forecast)  ~  normal(0, from parameters^2 + from unstated inputs^2 + spread^2)
//
// From parameters: the forecast again with hardware drawn from the fit and from the parameters' intervals. Spread:
// what remained in the fit's residuals of that size (`forecast.spread` of the profile). From unstated inputs: the forecast
// with each of their other values, by probability (report/unstated.hpp). The chance of ECMP draws is not
// part of it: percentiles over draws tell that.
#pragma once

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// Draws of the hardware that intervals take: fewer on large clusters, where each takes long.
int interval_draws(const World& world);

/// Fills in `factor` of all rows, and what is not stated. The same for any number of threads.
/// \param draws  at least 1
void add_intervals(const World& world, Forecast& forecast, int draws, const RunOptions& options = {});

}  // namespace fabricast
