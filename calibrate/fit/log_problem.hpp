// Forecasts as a least-squares problem in the logarithms of parameters.
//
// Residuals are ln(forecast / measured) over what a figure is uncertain by; every parameter has a prior at its value with the
// width of its interval. Cauchy's loss keeps what lies beyond 2.5 times the uncertainty from leading. Deterministic, whatever
// the number of threads.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "least_squares.hpp"

namespace fabricast {

/// A case that is forecast once for all its figures.
struct LogCase {
  /// ln(forecast / measured) of each figure. May be called by several threads at once.
  std::function<std::vector<double>(const Hardware&)> ratios;
  std::vector<double> noise;            ///< of each figure: a standard deviation of the logarithm
  std::vector<std::string> parameters;  ///< what the paths of those that it depends on begin with
};

class LogProblem {
 public:
  /// Of the parameters that `may_move` those that matter: they move some figure by a fifth of its noise within their
  /// interval.
  /// \param step  of derivatives, in logarithms
  LogProblem(std::vector<LogCase> cases, Hardware prior, const std::function<bool(std::string_view path)>& may_move,
             double step);

  const std::vector<std::string>& paths() const { return paths_; }
  std::size_t figures() const { return figures_; }
  /// The first figure of a case.
  std::size_t first_figure(std::size_t c) const { return first_[c]; }
  Eigen::VectorXd centre() const;
  /// Where a hardware's parameters are.
  Eigen::VectorXd place(const Hardware& hardware) const;
  Hardware hardware(const Eigen::VectorXd& theta) const;
  /// \param weights  of figures; none: all 1
  LeastSquares task(int iterations, Eigen::VectorXd weights = {});
  /// Parameters at a minimum, with intervals and samples that belong together.
  Fit posterior(const LeastSquares& task, double loss_before, const Minimum& found);
  /// Derivatives as they were taken at one place, so that what follows does not depend on what went before.
  void restart(const Eigen::MatrixXd& derivatives, const Eigen::VectorXd& at);
  /// The next are taken anew.
  void forget_derivatives() { taken_at_.setConstant(std::nan("")); }
  const Eigen::MatrixXd& derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& residuals);

 private:
  Eigen::Index size() const { return static_cast<Eigen::Index>(paths_.size()); }
  Eigen::VectorXd precision() const;
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta);
  /// Residuals of a case, from `first` on.
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
  Eigen::VectorXd taken_at_;  ///< by parameter: where its column was taken
};

}  // namespace fabricast
