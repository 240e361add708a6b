// Residuals are ln(forecast / measured) over the noise of a step's publication; every parameter has a prior at its
// value with the width of its interval. Deterministic, whatever the number of threads.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "../fit/least_squares.hpp"
#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast {

namespace {

constexpr double noise = 0.02;  // of a published step, relative: digits and run to run (guess)
constexpr double scale = 2.5;   // of Cauchy's loss, in units of the noise

class StepProblem {
 public:
  StepProblem(const std::vector<StepCase>& steps, Hardware prior) : prior_(std::move(prior)) {
    for (const StepCase& c : steps)
      if (!c.held_out) measured_.push_back(c.seconds), chosen_.push_back(&c);
    if (chosen_.empty()) throw UserError("there are no steps to fit to");
    runners_.resize(chosen_.size());
    in_parallel(chosen_.size(), thread_count(0), [&](std::size_t i) { runners_[i].emplace(*chosen_[i]); });
    for (const auto& [path, ref] : prior_.all_parameters()) {
      if (!path.starts_with("compute.") && !path.starts_with("stacks.")) continue;
      if (!(ref.parameter->high > ref.parameter->low) || !(ref.parameter->low > 0)) continue;
      const auto uses = [&](const auto& runner) { return runner->uses(path); };
      if (std::none_of(runners_.begin(), runners_.end(), uses)) continue;
      paths_.push_back(path), priors_.push_back(*ref.parameter);
    }
  }

  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<Parameter>& priors() const { return priors_; }
  Eigen::VectorXd centre() const {
    Eigen::VectorXd c(size());
    for (Eigen::Index j = 0; j < size(); ++j) c[j] = std::log(priors_[static_cast<std::size_t>(j)].value);
    return c;
  }
  Eigen::VectorXd precision() const {
    Eigen::VectorXd q(size());
    for (Eigen::Index j = 0; j < size(); ++j) {
      const Parameter& p = priors_[static_cast<std::size_t>(j)];
      q[j] = std::pow(2 * quantile_95 / std::log(p.high / p.low), 2);
    }
    return q;
  }

  Hardware hardware(const Eigen::VectorXd& theta) const {
    Hardware h = prior_;
    std::size_t j = 0;
    for (const auto& [path, ref] : h.all_parameters())
      if (j < paths_.size() && path == paths_[j])
        ref.parameter->value = std::exp(theta[static_cast<Eigen::Index>(j++)]);
    return h;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) {
    const Hardware h = hardware(theta);
    Eigen::VectorXd r(static_cast<Eigen::Index>(runners_.size()));
    in_parallel(runners_.size(), thread_count(0), [&](std::size_t i) {
      stop_if_requested();
      r[static_cast<Eigen::Index>(i)] = residual(i, h);
    });
    return r;
  }

  Eigen::MatrixXd derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& at) {
    constexpr double h = 0.01;
    Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(at.size(), size());
    std::vector<Hardware> moved;
    for (Eigen::Index j = 0; j < size(); ++j) {
      Eigen::VectorXd there = theta;
      there[j] += h;
      moved.push_back(hardware(there));
    }
    in_parallel(runners_.size(), thread_count(0), [&](std::size_t i) {
      for (Eigen::Index j = 0; j < size(); ++j) {
        stop_if_requested();
        if (!runners_[i]->uses(paths_[static_cast<std::size_t>(j)])) continue;
        const auto row = static_cast<Eigen::Index>(i);
        jacobian(row, j) = (residual(i, moved[static_cast<std::size_t>(j)]) - at[row]) / h;
      }
    });
    return jacobian;
  }

 private:
  Eigen::Index size() const { return static_cast<Eigen::Index>(paths_.size()); }
  double residual(std::size_t i, const Hardware& h) { return std::log(runners_[i]->seconds(h) / measured_[i]) / noise; }

  Hardware prior_;
  std::vector<const StepCase*> chosen_;
  std::vector<double> measured_;
  std::vector<std::optional<StepRunner>> runners_;
  std::vector<std::string> paths_;
  std::vector<Parameter> priors_;
};

}  // namespace

Fit fit_steps(const std::vector<StepCase>& steps, const Hardware& prior, const StepFitOptions& options) {
  StepProblem problem(steps, prior);
  LeastSquares task;
  task.residuals = [&](const Eigen::VectorXd& theta) { return problem.residuals(theta); };
  task.derivatives = [&](const Eigen::VectorXd& theta, const Eigen::VectorXd& r) {
    return problem.derivatives(theta, r);
  };
  task.prior = problem.centre(), task.precision = problem.precision();
  task.scale = scale, task.longest_step = 0.5, task.iterations = options.iterations, task.tolerance = 1e-4;
  task.progress = options.progress;
  const Minimum start = evaluate(task, problem.centre());
  const Minimum found = minimize(task, start);

  Fit fit;
  fit.hardware = problem.hardware(found.x);
  fit.loss_before = start.loss, fit.loss_after = found.loss;
  const Eigen::MatrixXd information = information_at(task, found, problem.derivatives(found.x, found.residuals));
  const Eigen::MatrixXd with_prior = information + Eigen::MatrixXd(task.precision.asDiagonal());
  const Eigen::MatrixXd covariance = with_prior.inverse();
  for (std::size_t j = 0; j < problem.paths().size(); ++j) {
    const auto k = static_cast<Eigen::Index>(j);
    FittedParameter p;
    p.path = problem.paths()[j], p.before = p.after = problem.priors()[j];
    p.error = std::sqrt(covariance(k, k));
    p.error_by_data = information(k, k) > 0 ? 1 / std::sqrt(information(k, k)) : INFINITY;
    p.after.value = std::exp(found.x[k]);
    p.after.low = p.after.value * std::exp(-quantile_95 * p.error);
    p.after.high = p.after.value * std::exp(quantile_95 * p.error);
    fit.parameters.push_back(std::move(p));
  }
  return fit;
}

}  // namespace fabricast
