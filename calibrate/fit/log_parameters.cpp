#include "log_parameters.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

double deviation_of(const Parameter& prior) { return std::log(prior.high / prior.low) / (2 * quantile_95); }

Eigen::VectorXd centre_of(const std::vector<Parameter>& priors) {
  Eigen::VectorXd centre(static_cast<Eigen::Index>(priors.size()));
  for (std::size_t j = 0; j < priors.size(); ++j) centre[static_cast<Eigen::Index>(j)] = std::log(priors[j].value);
  return centre;
}

Eigen::VectorXd precision_of(const std::vector<Parameter>& priors) {
  Eigen::VectorXd precision(static_cast<Eigen::Index>(priors.size()));
  for (std::size_t j = 0; j < priors.size(); ++j)
    precision[static_cast<Eigen::Index>(j)] = std::pow(deviation_of(priors[j]), -2);
  return precision;
}

Hardware hardware_at(const Hardware& prior, const std::vector<std::string>& paths, const Eigen::VectorXd& theta) {
  Hardware hardware = prior;
  std::size_t j = 0;
  // One pass over both is enough, because `paths` is a subsequence in the same order.
  for (const auto& [path, ref] : hardware.all_parameters())
    if (j < paths.size() && path == paths[j]) {
      const double value = std::exp(theta[static_cast<Eigen::Index>(j++)]);
      ref.parameter->value = ref.share ? std::min(1.0, value) : value;
    }
  return hardware;
}

}  // namespace fabricast
