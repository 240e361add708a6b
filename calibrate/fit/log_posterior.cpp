// The posterior of a fit to steps or serving figures, by Laplace's approximation: normal in the logarithms, centred at
// the minimum, with covariance (I + Q)^-1 for information I of the data and precisions Q of the priors.
#include "log_posterior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// Joint samples: centre + L z with L L' = covariance. The seed is fixed, so that a profile is reproducible, and sample
/// n of every parameter comes from the same z. Forecasts use sample n of all parameters together, which keeps
/// correlations.
Eigen::MatrixXd samples_of(const Eigen::VectorXd& centre, const Eigen::MatrixXd& covariance) {
  const Eigen::MatrixXd root = covariance.llt().matrixL();
  Rng rng(1);
  Eigen::MatrixXd normal(centre.size(), static_cast<Eigen::Index>(kept_samples));
  for (Eigen::Index s = 0; s < normal.cols(); ++s)
    for (Eigen::Index j = 0; j < normal.rows(); ++j) normal(j, s) = rng.normal();
  return (root * normal).colwise() + centre;
}

}  // namespace

std::set<std::string> shares_of(Hardware hardware) {
  std::set<std::string> shares;
  for (const auto& [path, ref] : hardware.all_parameters())
    if (ref.share) shares.insert(path);
  return shares;
}

std::vector<FittedParameter> log_posterior(const std::vector<std::string>& paths, const std::vector<Parameter>& priors,
                                           const std::set<std::string>& shares, const Eigen::VectorXd& at,
                                           const Eigen::MatrixXd& information, const Eigen::VectorXd& precision) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Eigen::MatrixXd covariance = (information + Eigen::MatrixXd(precision.asDiagonal())).inverse();
  const Eigen::MatrixXd samples = samples_of(at, covariance);
  std::vector<FittedParameter> fitted;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const auto j = static_cast<Eigen::Index>(k);
    FittedParameter p;
    p.path = paths[k];
    p.before = p.after = priors[k];
    p.error = std::sqrt(covariance(j, j));
    // The standard error with all other parameters known. It says whether the data depend on the parameter at all, and
    // ignores that parameters may be confounded.
    p.error_by_data = information(j, j) > 0 ? 1 / std::sqrt(information(j, j)) : infinity;
    // The normal distribution in the logarithm does not know that an efficiency or a share cannot exceed 1.
    const double most = shares.contains(p.path) ? 1 : infinity;
    const auto value_at = [&](double theta) { return std::min(most, std::exp(theta)); };
    p.after.value = value_at(at[j]);
    p.after.low = value_at(at[j] - quantile_95 * p.error);
    p.after.high = value_at(at[j] + quantile_95 * p.error);
    p.after.samples.clear();
    for (Eigen::Index s = 0; s < samples.cols(); ++s) p.after.samples.push_back(value_at(samples(j, s)));
    fitted.push_back(std::move(p));
  }
  return fitted;
}

}  // namespace fabricast
