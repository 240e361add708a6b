// Robust nonlinear least squares with priors:
//
//   minimize  sum_i w_i rho(r_i(x))  +  sum_j q_j (x_j - c_j)^2  +  |B (x - c)|^2
//
// by Levenberg-Marquardt [Marquardt1963]. Each step solves the linear problem around x, damped in proportion to the
// columns' lengths. It uses an orthogonal decomposition, which loses fewer digits than normal equations when columns
// are nearly parallel. rho is Cauchy's loss, s^2 ln(1 + r^2/s^2): residuals far beyond the scale s have little
// influence.
//
// Knows nothing of hardware; tested on NIST's regression problems. The functions keep no state.
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <limits>

namespace fabricast {

struct LeastSquares {
  /// r(x) [rows]. A value that is not finite means that x is not admissible.
  std::function<Eigen::VectorXd(const Eigen::VectorXd& x)> residuals;
  /// dr/dx [rows x unknowns] at x; the residuals there are passed as well.
  std::function<Eigen::MatrixXd(const Eigen::VectorXd& x, const Eigen::VectorXd& residuals)> derivatives;
  Eigen::VectorXd weights;                                        ///< w [rows]; empty: all 1
  Eigen::VectorXd prior, precision;                               ///< c and q [unknowns]; empty: no priors
  Eigen::MatrixXd bonds;                                          ///< B [any x unknowns]; empty: no bonds
  double scale = std::numeric_limits<double>::infinity();         ///< s; infinite: rho(r) = r^2
  double longest_step = std::numeric_limits<double>::infinity();  ///< limit for each unknown
  double damping = 1e-2;    ///< of the first step; use much more than 1 for a distant start
  double tolerance = 1e-5;  ///< stops after a step that gains less than this fraction of the loss
  int iterations = 100;
  std::function<void(int iteration, double loss)> progress;
};

/// A point with its residuals and loss; at the end, the minimum.
struct Minimum {
  Eigen::VectorXd x, residuals;
  double loss = 0;
};

/// rho(r).
double robust_loss(double residual, double scale);
/// The derivative of rho with respect to r, divided by 2 r: the weight of a row in the linear problem.
double robust_weight(double residual, double scale);

/// R [any x unknowns], so that the priors add |R (x - c)|^2: the roots of the precisions, then the bonds.
Eigen::MatrixXd prior_root(const LeastSquares& problem, Eigen::Index unknowns);

/// Residuals and loss at x; the loss is infinite if x is not admissible.
Minimum evaluate(const LeastSquares& problem, Eigen::VectorXd x);
/// A local minimum near `start`, or the best point after `iterations` steps.
/// \pre the loss at `start` is finite
Minimum minimize(const LeastSquares& problem, Minimum start);

/// The normal matrix (information) of the data, without the priors.
Eigen::MatrixXd information_at(const LeastSquares& problem, const Minimum& at, const Eigen::MatrixXd& derivatives);

}  // namespace fabricast
