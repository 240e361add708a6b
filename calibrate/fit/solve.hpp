// The fit as a least-squares problem in the free parameters; fit.hpp states what it minimizes.
//
// Derivatives dominate the run time, because each runs all cases that depend on a parameter. They are kept from step to
// step, and computed anew for parameters that have moved by more than 2 %. Functions use all cores and keep no state
// except in the Linearization that is passed.
#pragma once

#include <functional>

#include "least_squares.hpp"
#include "problem.hpp"

namespace fabricast {

/// Derivatives. Each column may be from another point.
struct Linearization {
  Eigen::MatrixXd jacobian;  ///< [row][parameter]
  Eigen::VectorXd at;        ///< the parameter's value when its column was computed; NaN: never
};
/// A Linearization in which no column is computed.
Linearization no_derivatives(const FitProblem& problem);

/// What to fit, with which weights.
struct FitTask {
  std::vector<std::size_t> free;  ///< indices of the parameters to move
  Eigen::VectorXd weights;        ///< by row; 1 on average over the rows that count; 0: left out
  double prior_weight = 0, sibling_weight = 0, scale = 0;
  int iterations = 0;
  std::function<void(int iteration, double loss)> progress;
};

/// Weights that count every system about once in each band, however many rows it has: N^-0.75 for N rows, normalized.
Eigen::VectorXd row_weights(const FitProblem& problem, const std::vector<std::string>& left_out);

/// A point of the fit.
struct FitPoint {
  Eigen::VectorXd theta, residuals;  ///< of all parameters and all rows
  double loss = 0;                   ///< divided by the number of rows that count
};

FitPoint evaluate(const FitProblem& problem, const FitTask& task, const Eigen::VectorXd& theta);
/// The minimum from `point` on. Derivatives are reused, and are those at the minimum afterwards.
FitPoint solve(const FitProblem& problem, const FitTask& task, FitPoint point, Linearization& derivatives);

/// Standard deviation of the logarithm of a parameter whose interval is a 90 % interval.
double prior_deviation(const Parameter& prior);

/// The fit, linearized around a point: how errors of the rows and of the priors' centres change the free parameters.
struct LinearFit {
  Eigen::MatrixXd solution;      ///< [free parameter][row, then prior row]; multiplies errors times their roots
  Eigen::VectorXd roots;         ///< square roots of the weights [row]
  Eigen::VectorXd prior_errors;  ///< standard deviations times their roots [prior row, see `prior_root`]
  double parameters_used = 0;    ///< parameters that the data determine: trace of the hat matrix
};
LinearFit linear_fit(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                     const Linearization& derivatives);

/// Standard errors of the logarithms of the free parameters by the data alone; infinite if no row depends on one.
/// Systems times bands count as the number of independent data.
std::vector<double> errors_by_data(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                                   const Linearization& derivatives);

}  // namespace fabricast
