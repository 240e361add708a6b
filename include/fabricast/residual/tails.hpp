// Tail probabilities of the distribution of residual.hpp: how rare a measured time would be on a healthy cluster, and
// which time a healthy cluster rarely exceeds.
//
// With several samples of the network (random ECMP hash outcomes), a row's time is a mixture: each sample is equally
// likely, and each has the same error distribution around its own time.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <vector>

#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// The probability that a row's ln(measured / forecast) exceeds `log`.
double share_above(const Residual& residual, double log);

/// The probability that a row takes longer than `time`.
/// \param samples  the row's times by sample of the network; the residual's median is already included in them
/// \pre there is at least one sample, and all times are positive
double share_slower(const Residual& residual, const std::vector<Seconds>& samples, Seconds time);

/// The time that a row exceeds with probability `share`: the inverse of `share_slower`, found by bisection.
/// \pre there is at least one sample, and 0 < share <= 0.5
Seconds time_exceeded_by(const Residual& residual, const std::vector<Seconds>& samples, double share);

}  // namespace fabricast
