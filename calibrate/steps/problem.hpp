// The fit of steps as a least-squares problem in the logarithms of the parameters of GPUs and software.
#pragma once

#include <cmath>
#include <optional>

#include "../fit/least_squares.hpp"
#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// Derivatives of the residuals, and where they are valid.
struct StepDerivatives {
  Eigen::MatrixXd matrix;    ///< [step][parameter]
  Eigen::VectorXd taken_at;  ///< by parameter: its value when its column was computed
  Eigen::VectorXd x, at;     ///< the parameters and residuals of the last correction
};

/// Residuals are ln(forecast / measured) divided by the noise of the step. Every parameter has a prior at its value
/// with the width of its interval. Results do not depend on the number of threads.
class StepProblem {
 public:
  /// Uses the steps that are not held out, and the parameters that matter: those that move some step by at least 0.2 of
  /// its noise within one standard deviation of their prior. \throws UserError if there are no steps
  StepProblem(const std::vector<StepCase>& steps, Hardware prior);

  const std::vector<const StepCase*>& steps() const { return chosen_; }
  /// The software generation of a step; empty for a kernel.
  std::string stack(std::size_t step) const { return runners_[step]->stack(); }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<Parameter>& priors() const { return priors_; }
  /// The prior hardware with the parameters exp(theta).
  Hardware hardware(const Eigen::VectorXd& theta) const;
  /// The logarithms of the priors.
  Eigen::VectorXd centre() const;
  /// The least-squares task of the steps, which refers to this object.
  /// \param weights  of steps; empty: all 1
  LeastSquares task(int iterations, Eigen::VectorXd weights = {});
  /// Makes the next call of `derivatives` compute all columns.
  void forget() { linear_.taken_at.setConstant(std::nan("")); }
  /// The derivatives at the priors, which depend on no measured time.
  const StepDerivatives& at_priors() const { return at_priors_; }
  /// Continues with these derivatives. From now on columns are not computed again, only corrected by residuals.
  void restart(const StepDerivatives& derivatives) { linear_ = derivatives, retakes_ = false; }
  /// Forecasts of some steps, with intervals.
  std::vector<StepRow> forecast(const std::vector<std::size_t>& steps, const Hardware& hardware);
  /// d residual / d ln parameter [step][parameter]. Derivatives jump where the bottleneck of a step changes from the
  /// GPU to the host, so each row is also corrected to explain the residual found at the new place [Broyden1965].
  const Eigen::MatrixXd& derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& at);

 private:
  Eigen::Index size() const { return static_cast<Eigen::Index>(paths_.size()); }
  Eigen::VectorXd precision() const;
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta);
  double residual(std::size_t i, const Hardware& h);
  bool uses(std::size_t step, Eigen::Index parameter) const {
    return runners_[step]->uses(paths_[static_cast<std::size_t>(parameter)]);
  }
  void keep_informative();
  void correct(const Eigen::VectorXd& theta, const Eigen::VectorXd& at);

  Hardware prior_;
  std::vector<const StepCase*> chosen_;
  std::vector<std::optional<StepRunner>> runners_;
  std::vector<std::string> paths_;
  std::vector<Parameter> priors_;
  StepDerivatives linear_, at_priors_;
  bool retakes_ = true;  ///< whether to compute columns again if their parameter has moved far
};

}  // namespace fabricast
