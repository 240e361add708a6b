// Robust nonlinear least squares with priors:
//
//   minimize  sum_i w_i rho(r_i(x))  +  sum_j q_j (x_j - c_j)^2  +  |B (x - c)|^2
//
// by Levenberg-Marquardt [Marquardt1963]: each step solves the linear problem around x, damped in proportion to the
// columns' lengths, by an orthogonal decomposition, so that columns nearly alike cost no more digits than they must.
// rho is Cauchy's loss, s^2 ln(1 + r^2/s^2): what lies beyond the scale s can not lead the rest astray.
#pragma once

#include <Eigen/Dense>
#include <functional>
#include <limits>

namespace fabricast {

struct LeastSquares {
  /// r(x) [rows]. Values that are not finite say that x can not be.
  std::function<Eigen::VectorXd(const Eigen::VectorXd& x)> residuals;
  /// dr/dx [rows x unknowns] at x, whose residuals are given.
  std::function<Eigen::MatrixXd(const Eigen::VectorXd& x, const Eigen::VectorXd& residuals)> derivatives;
  Eigen::VectorXd weights;                                        ///< w [rows]; none: all 1
  Eigen::VectorXd prior, precision;                               ///< c and q [unknowns]; none: no priors
  Eigen::MatrixXd bonds;                                          ///< B [any x unknowns]; none: no bonds
  double scale = std::numeric_limits<double>::infinity();         ///< s; infinite: rho(r) = r^2
  double longest_step = std::numeric_limits<double>::infinity();  ///< of one unknown
  double damping = 1e-2;    ///< of the first step; much above 1: careful, for a start far off
  double tolerance = 1e-5;  ///< a step that gains less of the loss is the last
  int iterations = 100;
  std::function<void(int iteration, double loss)> progress;
};

struct Minimum {
  Eigen::VectorXd x, residuals;
  double loss = 0;
};

double robust_loss(double residual, double scale);
/// Its derivative by the residual, over twice the residual.
double robust_weight(double residual, double scale);

/// R [any x unknowns] of what the prior adds, |R (x - c)|^2: the roots of the precisions, then the bonds.
Eigen::MatrixXd prior_root(const LeastSquares& problem, Eigen::Index unknowns);

/// The loss at x; infinite where x can not be.
Minimum evaluate(const LeastSquares& problem, Eigen::VectorXd x);
/// \pre the loss at `start` is finite
Minimum minimize(const LeastSquares& problem, Minimum start);

/// The normal matrix of the data, without the priors.
Eigen::MatrixXd information_at(const LeastSquares& problem, const Minimum& at, const Eigen::MatrixXd& derivatives);

}  // namespace fabricast
