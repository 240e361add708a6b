// Which parameters the data determine, alone and together: linear algebra on information matrices. Pure functions.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "fabricast/calibrate/advice.hpp"

namespace fabricast {

/// What is known about some parameters, in their logarithms.
struct Knowledge {
  std::vector<std::string> paths;
  Eigen::VectorXd prior;   ///< standard deviations before any data; positive
  Eigen::VectorXd effect;  ///< change of the forecasts' logarithm per change of the parameter's
  Eigen::MatrixXd data;    ///< information matrix of the data, the inverse of their covariance if it exists
};

/// Covariance of the parameters by data and priors.
Eigen::MatrixXd covariance_of(const Knowledge& knowledge);

/// Parameters that matter to forecasts and that the data leave uncertain, largest effect first. A parameter that the
/// data determine only in a product with others is listed with them.
std::vector<Unstated> unstated_of(const Knowledge& knowledge);

}  // namespace fabricast
