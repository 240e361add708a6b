// Steps as a least-squares problem in the logarithms of what GPUs and software reach.
#pragma once

#include <cmath>
#include <optional>

#include "../fit/least_squares.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// Derivatives, where each column was taken, and the last place that they were corrected at.
struct StepDerivatives {
  Eigen::MatrixXd matrix;    ///< [step][parameter]
  Eigen::VectorXd taken_at;  ///< by parameter
  Eigen::VectorXd x, at;     ///< parameters, and residuals there
};

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
  /// All derivatives are taken anew where they are asked for next.
  void forget() { linear_.taken_at.setConstant(std::nan("")); }
  /// Those at the priors, which no measured time has entered.
  const StepDerivatives& at_priors() const { return at_priors_; }
  /// What follows begins with these and takes none anew: only what residuals tell on the way corrects them.
  void restart(const StepDerivatives& derivatives) { linear_ = derivatives, retakes_ = false; }
  /// Of some steps, with intervals.
  std::vector<StepRow> forecast(const std::vector<std::size_t>& steps, const Hardware& hardware);
  /// d residual / d ln parameter [step][parameter]. Where a step turns from its GPU to its host they jump: each row is
  /// corrected so that it explains the residual that came out of the step before [Broyden1965].
  const Eigen::MatrixXd& derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& at);

 private:
  Eigen::Index size() const { return static_cast<Eigen::Index>(paths_.size()); }
  Eigen::VectorXd precision() const;
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta);
  double residual(std::size_t i, const Hardware& h);
  bool uses(std::size_t step, Eigen::Index parameter) const {
    return runners_[step]->uses(paths_[static_cast<std::size_t>(parameter)]);
  }
  void keep_telling();
  void correct(const Eigen::VectorXd& theta, const Eigen::VectorXd& at);

  Hardware prior_;
  std::vector<const StepCase*> chosen_;
  std::vector<std::optional<StepRunner>> runners_;
  std::vector<std::string> paths_;
  std::vector<Parameter> priors_;
  StepDerivatives linear_, at_priors_;
  bool retakes_ = true;  ///< columns of parameters that have moved far
};

}  // namespace fabricast
