#include "fabricast/calibrate/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fabricast/core/error.hpp"
#include "solve.hpp"

namespace fabricast {

namespace {

constexpr double quantile_95 = 1.645;  // of the normal distribution: intervals hold 90 %

FitTask task_of(const FitProblem& problem, const FitOptions& options) {
  FitTask task;
  task.weights = row_weights(problem, options.left_out);
  task.prior_weight = options.prior_weight, task.scale = options.scale;
  task.iterations = options.iterations, task.progress = options.progress;
  for (std::size_t j = 0; j < problem.parameters().size(); ++j) {
    const std::string& path = problem.parameters()[j];
    const bool wanted = options.parameters.empty() ||
                        std::any_of(options.parameters.begin(), options.parameters.end(),
                                    [&](const auto& p) { return path == p || path.starts_with(p + "."); });
    if (wanted && problem.matters(j, task.weights)) task.free.push_back(j);
  }
  return task;
}

/// The free parameters that the data alone tell to within the factor.
std::vector<std::size_t> identified(const FitTask& task, const FitErrors& errors, double factor) {
  std::vector<std::size_t> some;
  for (std::size_t k = 0; k < task.free.size(); ++k)
    if (std::exp(quantile_95 * errors.by_data[k]) <= factor) some.push_back(task.free[k]);
  return some;
}

/// The point with all parameters but the free ones at their prior.
Eigen::VectorXd held(const FitProblem& problem, const std::vector<std::size_t>& free, const Eigen::VectorXd& theta) {
  Eigen::VectorXd result = problem.prior_point();
  for (const std::size_t j : free) result[static_cast<Eigen::Index>(j)] = theta[static_cast<Eigen::Index>(j)];
  return result;
}

/// A fit of all free parameters, then of the identified ones.
struct TwoFits {
  FitTask task;  ///< the second one, or the first if nothing is held
  FitPoint first, last;
  Linearization derivatives, first_derivatives;
};

TwoFits fit_twice(const FitProblem& problem, const FitOptions& options) {
  TwoFits f;
  f.task = task_of(problem, options);
  if (f.task.free.empty()) throw UserError("the cases tell of no parameter to fit");
  const Eigen::VectorXd start = problem.prior_point();
  f.derivatives = no_derivatives(problem);
  f.first = f.last = solve(problem, f.task, evaluate(problem, f.task, start), f.derivatives);
  f.first_derivatives = f.derivatives;
  if (options.identified <= 0) return f;
  const std::vector<std::size_t> some =
      identified(f.task, errors_at(problem, f.task, f.first, f.derivatives), options.identified);
  if (some.empty()) return f;
  f.task.free = some;
  f.last = solve(problem, f.task, evaluate(problem, f.task, start), f.derivatives);
  return f;
}

}  // namespace

Fit fit_parameters(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options) {
  const FitProblem problem(cases, start);
  const TwoFits f = fit_twice(problem, options);
  Fit fit;
  fit.loss_before = evaluate(problem, f.task, problem.prior_point()).loss, fit.loss_after = f.last.loss;
  fit.hardware = problem.hardware(f.last.theta);
  const FitErrors errors = errors_at(problem, f.task, f.last, f.derivatives);
  for (std::size_t k = 0; k < f.task.free.size(); ++k) {
    const std::size_t j = f.task.free[k];
    FittedParameter p;
    p.path = problem.parameters()[j], p.before = p.after = problem.priors()[j];
    p.error = errors.both[k], p.error_by_data = errors.by_data[k];
    p.after.value = fit.hardware.find(p.path)->value;
    p.after.low = p.after.value * std::exp(-quantile_95 * p.error);
    p.after.high = p.after.value * std::exp(quantile_95 * p.error);
    fit.parameters.push_back(std::move(p));
  }
  return fit;
}

LeaveOneOut leave_one_out(const std::vector<MeasuredCase>& cases, const Hardware& prior, const FitOptions& options) {
  const FitProblem problem(cases, prior);
  std::set<std::string> systems, fitted_systems;
  for (const MeasuredCase& c : cases) systems.insert(c.system);
  for (const FitProblem::Row& row : problem.rows()) fitted_systems.insert(row.system);
  if (fitted_systems.size() < 2) throw UserError("leaving one out takes cases of two systems or more");
  const TwoFits all = fit_twice(problem, options);
  // All cases count, also those that no fit looks at.
  const std::vector<CaseRunner> runners(cases.begin(), cases.end());
  const auto errors_of = [&](const std::string& system, const Hardware& hardware) {
    std::vector<ErrorRow> rows;
    for (const CaseRunner& runner : runners)
      if (runner.measured().system == system) add_errors(system, runner.run(hardware), rows);
    return rows;
  };
  const auto fit_without = [&](const std::string& system) {
    FitOptions without = options;
    without.left_out = {system};
    FitTask task = task_of(problem, without);
    if (options.identified > 0) {
      Linearization first_derivatives = all.first_derivatives;
      const FitPoint first =
          solve(problem, task, evaluate(problem, task, held(problem, task.free, all.first.theta)), first_derivatives);
      task.free = identified(task, errors_at(problem, task, first, first_derivatives), options.identified);
    }
    Linearization derivatives = all.derivatives;
    const FitPoint start = evaluate(problem, task, held(problem, task.free, all.last.theta));
    return problem.hardware(solve(problem, task, start, derivatives).theta);
  };
  const Hardware whole = problem.hardware(all.last.theta);
  std::vector<ErrorRow> in_sample, left_out;
  for (const std::string& system : systems) {
    const std::vector<ErrorRow> with = errors_of(system, whole);
    const std::vector<ErrorRow> without =
        fitted_systems.contains(system) ? errors_of(system, fit_without(system)) : with;
    in_sample.insert(in_sample.end(), with.begin(), with.end());
    left_out.insert(left_out.end(), without.begin(), without.end());
  }
  return {error_table(in_sample), error_table(left_out)};
}

std::string profile_json(const Fit& fit, const std::string& source) {
  // One line per parameter, as in the shipped data.
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::map<std::string, std::map<std::string, std::vector<std::string>>> sections;
  for (const FittedParameter& p : fit.parameters) {
    const auto first = p.path.find('.');
    const std::string section = p.path.substr(0, first), rest = p.path.substr(first + 1);
    const auto second = section == "software" ? std::string::npos : rest.find('.');
    const std::string group = second == std::string::npos ? "" : rest.substr(0, second);
    const std::string name = second == std::string::npos ? rest : rest.substr(second + 1);
    sections[section][group].push_back(
        fmt::format("{}: {{\"value\": {:.4g}, \"low\": {:.4g}, \"high\": {:.4g}, \"source\": {}}}", quoted(name),
                    p.after.value, p.after.low, p.after.high, quoted(source)));
  }
  std::vector<std::string> blocks;
  for (const auto& [section, groups] : sections) {
    std::vector<std::string> inner;
    for (const auto& [group, lines] : groups) {
      if (group.empty())
        inner.push_back(fmt::format("    {}", fmt::join(lines, ",\n    ")));
      else
        inner.push_back(fmt::format("    {}: {{\n      {}\n    }}", quoted(group), fmt::join(lines, ",\n      ")));
    }
    blocks.push_back(fmt::format("  {}: {{\n{}\n  }}", quoted(section), fmt::join(inner, ",\n")));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(blocks, ",\n"));
}

}  // namespace fabricast
