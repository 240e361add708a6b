// The fit as a least-squares problem in the free parameters, see fit.hpp for what it minimizes.
//
// Derivatives are what costs time: every one runs all cases that depend on a parameter. They are kept from step to
// step, and taken anew for the parameters that have moved by more than 2 % since.
#pragma once

#include <functional>

#include "least_squares.hpp"
#include "problem.hpp"

namespace fabricast {

/// Derivatives, each column taken where its parameter was then.
struct Linearization {
  Eigen::MatrixXd jacobian;  ///< [row][parameter]
  Eigen::VectorXd at;        ///< the parameter then; NaN: never
};
Linearization no_derivatives(const FitProblem& problem);

struct FitTask {
  std::vector<std::size_t> free;  ///< parameters to move
  Eigen::VectorXd weights;        ///< of rows, on average 1 over those that count; 0: left out
  double prior_weight = 0, sibling_weight = 0, scale = 0;
  int iterations = 0;
  std::function<void(int iteration, double loss)> progress;
};

/// Weights that count every system about once in each band, however many rows it has.
Eigen::VectorXd row_weights(const FitProblem& problem, const std::vector<std::string>& left_out);

struct FitPoint {
  Eigen::VectorXd theta, residuals;
  double loss = 0;
};

FitPoint evaluate(const FitProblem& problem, const FitTask& task, Eigen::VectorXd theta);
FitPoint solve(const FitProblem& problem, const FitTask& task, FitPoint point, Linearization& derivatives);

/// Standard deviation of the logarithm by the parameter's interval, which holds 90 %.
double prior_deviation(const Parameter& prior);

/// The fit as linear around a point: what errors of the rows, and of the priors' centres, make of the free parameters.
struct LinearFit {
  Eigen::MatrixXd solution;      ///< [free parameter][row, then row of the prior], of errors times their roots
  Eigen::VectorXd roots;         ///< of weights [row]
  Eigen::VectorXd prior_errors;  ///< standard deviations, times their roots [row of the prior: `prior_root`]
  double parameters_used = 0;    ///< by the data: trace of the hat matrix
};
LinearFit linear_fit(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                     const Linearization& derivatives);

/// Standard errors of the logarithms of the free parameters by the data alone; infinite where they say nothing.
std::vector<double> errors_by_data(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                                   const Linearization& derivatives);

}  // namespace fabricast
