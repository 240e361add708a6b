#include <cmath>
#include <limits>
#include <map>

#include "problem.hpp"

namespace fabricast {

Fit fit_steps(const std::vector<StepCase>& steps, const Hardware& prior, const StepFitOptions& options) {
  StepProblem problem(steps, prior);
  LeastSquares task = problem.task(options.iterations);
  task.progress = options.progress;
  const Minimum start = evaluate(task, problem.centre());
  const Minimum found = minimize(task, start);

  Fit fit;
  fit.hardware = problem.hardware(found.x);
  fit.loss_before = start.loss, fit.loss_after = found.loss;
  const Eigen::MatrixXd information = information_at(task, found, problem.derivatives(found.x, found.residuals));
  const Eigen::MatrixXd covariance = (information + Eigen::MatrixXd(task.precision.asDiagonal())).inverse();
  for (std::size_t j = 0; j < problem.paths().size(); ++j) {
    const auto k = static_cast<Eigen::Index>(j);
    FittedParameter p;
    p.path = problem.paths()[j], p.before = p.after = problem.priors()[j];
    p.error = std::sqrt(covariance(k, k));
    p.error_by_data =
        information(k, k) > 0 ? 1 / std::sqrt(information(k, k)) : std::numeric_limits<double>::infinity();
    p.after.value = std::exp(found.x[k]);
    p.after.low = p.after.value * std::exp(-quantile_95 * p.error);
    p.after.high = p.after.value * std::exp(quantile_95 * p.error);
    fit.parameters.push_back(std::move(p));
  }
  return fit;
}

std::vector<StepRow> leave_out_stacks(const std::vector<StepCase>& steps, const Hardware& prior,
                                      const StepFitOptions& options, const std::function<void(double)>& progress) {
  StepProblem problem(steps, prior);
  std::map<std::string, std::vector<std::size_t>> by_stack;
  for (std::size_t i = 0; i < problem.steps().size(); ++i) by_stack[problem.stack(i)].push_back(i);
  std::vector<StepRow> rows;
  for (const auto& [stack, mine] : by_stack) {
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(problem.steps().size()));
    for (const std::size_t i : mine) weights[static_cast<Eigen::Index>(i)] = 0;
    problem.restart();
    const LeastSquares task = problem.task(options.iterations, weights);
    const Minimum found = minimize(task, evaluate(task, problem.centre()));
    for (const std::size_t i : mine) {
      const StepCase& c = *problem.steps()[i];
      rows.push_back({c.id, c.source, c.seconds,
                      c.seconds * std::exp(c.noise * found.residuals[static_cast<Eigen::Index>(i)]), false});
    }
    if (progress) progress(static_cast<double>(rows.size()) / static_cast<double>(problem.steps().size()));
  }
  return rows;
}

}  // namespace fabricast
