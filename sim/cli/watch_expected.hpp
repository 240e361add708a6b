// What `fabricast-watch` expects of a communicator: the forecast and the floor of its shape.
#pragma once

#include "../../calibrate/watch/metrics.hpp"
#include "fabricast/report/interval.hpp"

namespace fabricast {

/// Forecasts each shape and size once and keeps the result. Nothing is expected of communicators that are not whole
/// nodes of the scenario, or that cannot be forecast.
/// \param world        the cluster as it should be; must outlive the result
/// \param probability  that a healthy cluster misses the floor
live::ExpectedOf expectations(const World& world, const MeasuredSite& site, double probability);

}  // namespace fabricast
