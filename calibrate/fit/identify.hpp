// Which parameters data tell, apart and together: linear algebra on their information.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "fabricast/calibrate/advice.hpp"

namespace fabricast {

/// Of some parameters, in their logarithms.
struct Knowledge {
  std::vector<std::string> paths;
  Eigen::VectorXd prior;   ///< standard deviations before any data, above zero
  Eigen::VectorXd effect;  ///< what forecasts move by, relative to the parameter
  Eigen::MatrixXd data;    ///< information of the data: inverse of the covariance by them alone, where that is
};

/// By data and priors.
Eigen::MatrixXd covariance_of(const Knowledge& knowledge);

/// Parameters that matter to forecasts and that the data leave uncertain, largest effect first; each alone or with
/// those that it is told together with.
std::vector<Unstated> unstated_of(const Knowledge& knowledge);

}  // namespace fabricast
