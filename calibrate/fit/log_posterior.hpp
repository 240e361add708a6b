// What is known of parameters at the minimum of a least-squares problem in their logarithms.
#pragma once

#include <Eigen/Dense>
#include <set>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// Paths of parameters that cannot be above 1.
std::set<std::string> shares_of(Hardware hardware);

/// Values, 90 % intervals, and samples of the normal posterior: the n-th of all parameters belong together.
/// \param at           logarithms at the minimum
/// \param information  of the data; that of the priors is the diagonal `precision`
std::vector<FittedParameter> log_posterior(const std::vector<std::string>& paths, const std::vector<Parameter>& priors,
                                           const std::set<std::string>& shares, const Eigen::VectorXd& at,
                                           const Eigen::MatrixXd& information, const Eigen::VectorXd& precision);

}  // namespace fabricast
