// The normal approximation of the posterior at the minimum of a least-squares problem in logarithms of parameters. Pure
// functions; samples come from a fixed seed.
#pragma once

#include <Eigen/Dense>
#include <set>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// Paths of parameters that are fractions, at most 1.
std::set<std::string> shares_of(Hardware hardware);

/// Values, 90 % intervals and samples of the posterior. The n-th samples of all parameters form one joint sample.
/// \param at           logarithms at the minimum
/// \param information  information matrix of the data; that of the priors is the diagonal `precision`
std::vector<FittedParameter> log_posterior(const std::vector<std::string>& paths, const std::vector<Parameter>& priors,
                                           const std::set<std::string>& shares, const Eigen::VectorXd& at,
                                           const Eigen::MatrixXd& information, const Eigen::VectorXd& precision);

}  // namespace fabricast
