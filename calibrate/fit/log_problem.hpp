// Forecasts as a least-squares problem in the logarithms of parameters.
//
// A residual is ln(forecast / measured) of a figure, divided by the uncertainty of the figure. Every parameter has a
// prior with its value and interval. Cauchy's loss with a scale of 2.5 limits the influence of outliers. Fits of steps
// and of serving use it. Results do not depend on the number of threads. An object must not be used by several threads
// at once.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "least_squares.hpp"

namespace fabricast {

/// A case. One forecast gives all its figures.
struct LogCase {
  /// ln(forecast / measured) of each figure. May be called by several threads at once.
  std::function<std::vector<double>(const Hardware&)> ratios;
  std::vector<double> noise;            ///< standard deviation of the logarithm, by figure
  std::vector<std::string> parameters;  ///< prefixes of the paths of the parameters that it depends on
};

class LogProblem {
 public:
  /// Takes the parameters for which `may_move` holds and that matter: one standard deviation of their prior changes
  /// some figure by at least a fifth of its noise.
  /// \param step  difference for derivatives, in logarithms
  LogProblem(std::vector<LogCase> cases, Hardware prior, const std::function<bool(std::string_view path)>& may_move,
             double step);

  const std::vector<std::string>& paths() const { return paths_; }
  std::size_t figures() const { return figures_; }
  /// The first figure of a case.
  std::size_t first_figure(std::size_t c) const { return first_[c]; }
  /// Logarithms of the priors' values.
  Eigen::VectorXd centre() const;
  /// Logarithms of a hardware's parameters.
  Eigen::VectorXd place(const Hardware& hardware) const;
  /// The hardware with parameters exp(theta); fractions are limited to 1.
  Hardware hardware(const Eigen::VectorXd& theta) const;
  /// The least-squares problem. It refers to this object.
  /// \param weights  by figure; empty: all 1
  LeastSquares task(int iterations, Eigen::VectorXd weights = {});
  /// Parameters at a minimum, with intervals and joint samples.
  Fit posterior(const LeastSquares& task, double loss_before, const Minimum& found);
  /// Sets the derivatives, so that later results do not depend on earlier calls.
  /// \param at  the point at which they were taken
  void restart(const Eigen::MatrixXd& derivatives, const Eigen::VectorXd& at);
  /// Makes the next call of `derivatives` compute all columns anew.
  void forget_derivatives() { taken_at_.setConstant(std::nan("")); }
  /// Derivatives of the residuals [figure][parameter]. Columns are kept until their parameter has moved by 0.3.
  const Eigen::MatrixXd& derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& residuals);

 private:
  Eigen::Index size() const { return static_cast<Eigen::Index>(paths_.size()); }
  Eigen::VectorXd precision() const;
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta);
  /// Writes the residuals of a case to its rows of `to`.
  void write_residuals(std::size_t c, const Hardware& hardware, Eigen::VectorXd& to) const;
  bool uses(std::size_t c, const std::string& path) const;
  void keep_what_matters();

  std::vector<LogCase> cases_;
  std::vector<std::size_t> first_;
  std::size_t figures_ = 0;
  Hardware prior_;
  double step_;
  std::vector<std::string> paths_;
  std::vector<Parameter> priors_;
  Eigen::MatrixXd jacobian_;  ///< [figure][parameter]
  Eigen::VectorXd taken_at_;  ///< by parameter: the value at which its column was taken; NaN: never
};

}  // namespace fabricast
