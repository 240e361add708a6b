// Fits the parameters of GPUs and software to steps and kernels, with and without groups of steps. The least-squares
// problem is in problem.hpp, its solution in fit/least_squares.hpp and the posterior in fit/log_posterior.hpp.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "../fit/log_posterior.hpp"
#include "problem.hpp"
#include "step_spread.hpp"

namespace fabricast {

namespace {

/// The spread of a software generation from the remaining errors of its steps. The prior counts as `worth` errors.
FittedParameter spread_of(const std::string& stack, Hardware hardware, const std::vector<double>& errors) {
  constexpr double worth = 4;
  FittedParameter p;
  p.path = "stacks." + stack + ".spread";
  hardware.own(p.path);
  p.before = p.after = *hardware.find(p.path);
  // sigma^2 = ( 4 sigma_prior^2 + sum e^2 ) / ( 4 + n ): with few steps of a generation the prior prevails.
  double squares = worth * std::pow(p.before.value, 2);
  for (const double e : errors) squares += e * e;
  const double count = worth + static_cast<double>(errors.size());
  p.after.value = std::sqrt(squares / count);
  p.error = p.error_by_data = 1 / std::sqrt(2 * count);  // of the logarithm of a standard deviation
  p.after.low = p.after.value * std::exp(-quantile_95 * p.error);
  p.after.high = p.after.value * std::exp(quantile_95 * p.error);
  return p;
}

/// The group of a step. A source that has dense and MoE models is one group.
std::string group_of(const StepProblem& problem, std::size_t i, LeftOutSteps what) {
  if (what == LeftOutSteps::software) return problem.stack(i);
  const std::string& source = problem.steps()[i]->source;
  // A family has names that begin alike, such as `dgxc-24.11` and `dgxc-25.04`: releases of one table repeat its rows.
  return what == LeftOutSteps::source ? source : source.substr(0, source.find('-'));
}

/// The posterior at the minimum.
/// \param left_out  steps that had no weight
Fit posterior(StepProblem& problem, const LeastSquares& task, const Minimum& start, const Minimum& found,
              const std::set<std::size_t>& left_out) {
  Fit fit;
  fit.hardware = problem.hardware(found.x);
  fit.loss_before = start.loss;
  fit.loss_after = found.loss;
  const Eigen::MatrixXd information = information_at(task, found, problem.derivatives(found.x, found.residuals));
  fit.parameters =
      log_posterior(problem.paths(), problem.priors(), shares_of(fit.hardware), found.x, information, task.precision);
  std::map<std::string, std::vector<double>> errors;
  // Residuals are in units of the noise; the spread is of the logarithm itself.
  for (std::size_t i = 0; i < problem.steps().size(); ++i)
    if (!left_out.contains(i) && !problem.stack(i).empty())
      errors[problem.stack(i)].push_back(problem.steps()[i]->noise * found.residuals[static_cast<Eigen::Index>(i)]);
  for (const auto& [stack, list] : errors) fit.parameters.push_back(spread_of(stack, fit.hardware, list));
  for (const FittedParameter& p : fit.parameters) *fit.hardware.find(p.path) = p.after;
  return fit;
}

}  // namespace

Fit fit_steps(const std::vector<StepCase>& steps, const Hardware& prior, const StepFitOptions& options) {
  StepProblem problem(steps, prior);
  LeastSquares task = problem.task(options.iterations);
  task.progress = options.progress;
  task.tolerance = options.tolerance;
  const Minimum start = evaluate(task, problem.centre());
  // With many steps, derivatives take most of the time. The derivatives at the priors, corrected on the way, are then
  // good enough, as in leave_out_fits. With few steps, they are computed again where the first search ends.
  constexpr std::size_t many = 100;
  if (problem.steps().size() > many) {
    problem.restart(problem.at_priors());
    return posterior(problem, task, start, minimize(task, start), {});
  }
  const Minimum near = minimize(task, start);
  problem.forget();
  return posterior(problem, task, start, minimize(task, near), {});
}

std::vector<LeftOutFit> leave_out_fits(const std::vector<StepCase>& steps, const Hardware& prior,
                                       const std::vector<LeftOutSteps>& what, const StepFitOptions& options,
                                       const std::function<void(double)>& progress) {
  StepProblem problem(steps, prior);
  struct Group {
    LeftOutSteps by;
    std::string name;
  };
  // Keyed by the steps that are left out: two names of one set need a single fit.
  std::map<std::vector<std::size_t>, std::vector<Group>> groups;  // a family of one source is the same group
  for (const LeftOutSteps by : what) {
    std::map<std::string, std::vector<std::size_t>> rows;
    // Kernels belong to no software and stay in every fit.
    for (std::size_t i = 0; i < problem.steps().size(); ++i)
      if (!problem.stack(i).empty()) rows[group_of(problem, i, by)].push_back(i);
    for (const auto& [name, mine] : rows) groups[mine].push_back({by, name});
  }
  std::vector<LeftOutFit> fits;
  double done = 0;
  for (const auto& [mine, names] : groups) {
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(problem.steps().size()));
    // A weight of zero leaves a step out without building the problem anew.
    for (const std::size_t i : mine) weights[static_cast<Eigen::Index>(i)] = 0;
    // Nothing of the group may enter, so each fit starts at the priors, where derivatives depend on no measured time.
    problem.restart(problem.at_priors());
    LeastSquares task = problem.task(options.iterations, weights);
    task.tolerance = options.tolerance;
    const Minimum start = evaluate(task, problem.centre());
    LeftOutFit left_out;
    left_out.fit = posterior(problem, task, start, minimize(task, start), {mine.begin(), mine.end()});
    left_out.rows = problem.forecast(mine, left_out.fit.hardware);
    for (const auto& [by, name] : names) {
      left_out.by = by;
      left_out.group = name;
      fits.push_back(left_out);
    }
    if (progress) progress(++done / static_cast<double>(groups.size()));
  }
  std::stable_sort(fits.begin(), fits.end(), [](const LeftOutFit& a, const LeftOutFit& b) {
    return a.by != b.by ? a.by < b.by : a.group < b.group;
  });
  set_intervals_without_own(fits, prior);
  return fits;
}

std::vector<StepRow> rows_left_out(const std::vector<LeftOutFit>& fits, LeftOutSteps by) {
  std::vector<StepRow> rows;
  for (const LeftOutFit& f : fits)
    if (f.by == by) rows.insert(rows.end(), f.rows.begin(), f.rows.end());
  return rows;
}

}  // namespace fabricast
