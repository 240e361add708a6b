// Steps as a least-squares problem in the logarithms of what GPUs and software reach.
#pragma once

#include <cmath>
#include <optional>

#include "../fit/least_squares.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// Residuals are ln(forecast / measured) over the noise of a step's publication; every parameter has a prior at its
/// value with the width of its interval. Deterministic, whatever the number of threads.
class StepProblem {
 public:
  /// Of the steps that are not held out. Keeps the parameters that matter: those that move some step by a part of its
  /// noise within their interval. \throws UserError if there are no steps
  StepProblem(const std::vector<StepCase>& steps, Hardware prior);

  const std::vector<const StepCase*>& steps() const { return chosen_; }
  /// The software generation that a step ran.
  std::string stack(std::size_t step) const { return runners_[step]->stack(); }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<Parameter>& priors() const { return priors_; }
  Hardware hardware(const Eigen::VectorXd& theta) const;
  Eigen::VectorXd centre() const;
  /// \param weights  of steps; none: all 1
  LeastSquares task(int iterations, Eigen::VectorXd weights = {});
  /// All derivatives are taken anew where they are asked for next: where a step turns from its GPU to its host they jump.
  void forget() { taken_at_.setConstant(std::nan("")); }
  /// Derivatives as they were taken at one place, so that what follows does not depend on what went before.
  void restart(const Eigen::MatrixXd& derivatives, const Eigen::VectorXd& at) {
    jacobian_ = derivatives, taken_at_ = at;
  }
  /// Of some steps, with intervals.
  std::vector<StepRow> forecast(const std::vector<std::size_t>& steps, const Hardware& hardware);
  /// d residual / d ln parameter [step][parameter].
  const Eigen::MatrixXd& derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& at);

 private:
  Eigen::Index size() const { return static_cast<Eigen::Index>(paths_.size()); }
  Eigen::VectorXd precision() const;
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta);
  double residual(std::size_t i, const Hardware& h);
  void keep_telling();

  Hardware prior_;
  std::vector<const StepCase*> chosen_;
  std::vector<std::optional<StepRunner>> runners_;
  std::vector<std::string> paths_;
  std::vector<Parameter> priors_;
  Eigen::MatrixXd jacobian_;  ///< [step][parameter]
  Eigen::VectorXd taken_at_;  ///< by parameter: where its column was taken
};

}  // namespace fabricast
