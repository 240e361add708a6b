// The stages of a fit: weights and free parameters, one or two minimizations, and then intervals by the bootstrap. The
// same stages serve the fit of all systems and each fit without some of them (cross_validation.cpp).
#include "stages.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "bootstrap.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

constexpr int replicates = 400;  // of the bootstrap

/// Sets interval, error and samples of a parameter from its moves in the bootstrap.
void take_samples(const Eigen::VectorXd& moved, FittedParameter& p) {
  std::vector<double> sorted(moved.begin(), moved.end());
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](double q) {
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  };
  // About zero, the fitted value, and not about the mean of the replicates: the value that is written is the fitted
  // one.
  p.error = std::sqrt(moved.squaredNorm() / static_cast<double>(moved.size()));
  // An interval always contains its value, even if all replicates moved to one side.
  p.after.low = p.after.value * std::exp(std::min(0.0, quantile(0.05)));
  p.after.high = p.after.value * std::exp(std::max(0.0, quantile(0.95)));
  for (std::size_t d = 0; d < kept_samples; ++d)
    p.after.samples.push_back(p.after.value * std::exp(moved[static_cast<Eigen::Index>(d)]));
}

/// The spread of the residuals in each band, shrunk toward the previous one if there are few cases: a fit to data of
/// two nodes has smaller residuals than larger jobs will have.
std::array<Parameter, bands.size()> spreads_after(const FitProblem& problem, const FitTask& task,
                                                  const ErrorModel& found, const ForecastSpread& start) {
  // The previous spread counts as much as 12 cases. Variances are averaged, weighted by cases: rows of one case are not
  // independent.
  constexpr double prior_cases = 12;
  std::array<std::set<std::size_t>, bands.size()> cases;
  for (std::size_t i = 0; i < problem.rows().size(); ++i)
    if (task.weights[static_cast<Eigen::Index>(i)] > 0) cases[problem.rows()[i].band].insert(problem.rows()[i].runner);
  std::array<Parameter, bands.size()> after;
  for (std::size_t b = 0; b < bands.size(); ++b) {
    const auto n = static_cast<double>(cases[b].size());
    const double before = start.bands[b].value;
    const double value =
        std::sqrt((prior_cases * before * before + n * found.tails[b] * found.tails[b]) / (prior_cases + n));
    // The standard error of the logarithm of a spread from n cases, 1 / sqrt(2 n).
    const double factor = std::exp(quantile_95 / std::sqrt(2 * (prior_cases + n)));
    after[b] = {value, value / factor, value * factor, {}, {}, false};
  }
  return after;
}

}  // namespace

FitTask task_of(const FitProblem& problem, const FitOptions& options) {
  FitTask task;
  task.weights = row_weights(problem, options.left_out);
  task.prior_weight = options.prior_weight;
  task.sibling_weight = options.sibling_weight;
  task.scale = options.scale;
  task.iterations = options.iterations;
  task.progress = options.progress;
  for (std::size_t j = 0; j < problem.parameters().size(); ++j) {
    const std::string& path = problem.parameters()[j];
    if (options.takes(path) && problem.matters(j, task.weights)) task.free.push_back(j);
  }
  return task;
}

std::vector<std::size_t> identified(const FitTask& task, const std::vector<double>& errors, double factor) {
  std::vector<std::size_t> some;
  for (std::size_t k = 0; k < task.free.size(); ++k)
    if (std::exp(quantile_95 * errors[k]) <= factor) some.push_back(task.free[k]);
  return some;
}

TwoFits fit_twice(const FitProblem& problem, const FitOptions& options) {
  TwoFits f;
  f.task = task_of(problem, options);
  if (f.task.free.empty()) throw UserError("the cases depend on no parameter that can be fitted");
  f.start = evaluate(problem, f.task, problem.prior_point());
  f.derivatives = no_derivatives(problem);
  f.first = f.last = solve(problem, f.task, f.start, f.derivatives);
  f.first_derivatives = f.derivatives;
  if (options.identified <= 0) return f;
  const std::vector<std::size_t> some =
      identified(f.task, errors_by_data(problem, f.task, f.first, f.derivatives), options.identified);
  // If the data determine no parameter well enough, the first fit stands.
  if (some.empty()) return f;
  f.task.free = some;
  f.last = solve(problem, f.task, f.start, f.derivatives);  // priors have no pull at the start, whatever is free
  return f;
}

Fit fit_at(const FitProblem& problem, const FitTask& task, const FitPoint& point, const Linearization& derivatives,
           std::uint64_t seed) {
  Fit fit;
  fit.hardware = problem.hardware(point.theta);
  const std::vector<double> errors = errors_by_data(problem, task, point, derivatives);
  const Bootstrap boot = bootstrap(problem, task, point, derivatives, replicates, seed);
  fit.hardware.spread.bands = spreads_after(problem, task, boot.errors, fit.hardware.spread);
  for (std::size_t k = 0; k < task.free.size(); ++k) {
    const std::size_t j = task.free[k];
    FittedParameter p;
    p.path = problem.parameters()[j];
    p.before = p.after = problem.priors()[j];
    p.error_by_data = errors[k];
    p.rows = problem.rows_of(j);
    p.after.value = fit.hardware.find(p.path)->value;
    p.after.samples.clear();
    take_samples(boot.moved.col(static_cast<Eigen::Index>(k)), p);
    *fit.hardware.find(p.path) = p.after;
    fit.parameters.push_back(std::move(p));
  }
  return fit;
}

}  // namespace fabricast
