// Parameters as the fits move them: by their logarithms, from priors with a value and a 90 % interval. The problems of
// fits, of collectives, steps and serving, share these.
//
// A point theta holds ln(value) for each of `paths`, a subsequence of Hardware::all_parameters(). Pure functions; safe
// to call concurrently.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

/// Standard deviation of the logarithm. \pre 0 < low < high
double deviation_of(const Parameter& prior);
/// Logarithms of the priors' values.
Eigen::VectorXd centre_of(const std::vector<Parameter>& priors);
/// The inverse of the squared deviations.
Eigen::VectorXd precision_of(const std::vector<Parameter>& priors);
/// `prior` with exp(theta) for the parameters at `paths`. Fractions of a whole are limited to 1.
Hardware hardware_at(const Hardware& prior, const std::vector<std::string>& paths, const Eigen::VectorXd& theta);

}  // namespace fabricast
