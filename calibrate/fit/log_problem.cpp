// Fits of training steps (calibrate/steps) and of serving (calibrate/published) as problems for least_squares.hpp. Fits
// of collectives have a problem of their own (problem.hpp), because there each row, and not only each case, has its own
// list of parameters.
//
//   residual = ln(forecast / measured) / noise,      unknowns theta = ln(parameter),      prior precision = 1 / sigma^2
#include "log_problem.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "log_parameters.hpp"
#include "log_posterior.hpp"

namespace fabricast {

LogProblem::LogProblem(std::vector<LogCase> cases, Hardware prior,
                       const std::function<bool(std::string_view path)>& may_move, double step)
    : cases_(std::move(cases)), prior_(std::move(prior)), step_(step) {
  for (const LogCase& c : cases_) {
    first_.push_back(figures_);
    figures_ += c.noise.size();
  }
  for (const auto& [path, ref] : prior_.all_parameters()) {
    if (!may_move(path)) continue;
    // A constant has no interval and is not fitted. Neither is an absent effect, whose low end is zero and has no
    // logarithm.
    if (!(ref.parameter->high > ref.parameter->low) || !(ref.parameter->low > 0)) continue;
    paths_.push_back(path);
    priors_.push_back(*ref.parameter);
  }
  keep_what_matters();
}

bool LogProblem::uses(std::size_t c, const std::string& path) const {
  return std::any_of(cases_[c].parameters.begin(), cases_[c].parameters.end(),
                     [&](const std::string& p) { return path.starts_with(p); });
}

void LogProblem::keep_what_matters() {
  constexpr double least = 0.2;
  jacobian_ = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(figures_), size());
  taken_at_ = Eigen::VectorXd::Constant(size(), std::nan(""));
  // One pass over all candidates at the prior. The columns of those that matter are kept as the first Jacobian of the
  // fit.
  (void)derivatives(centre(), residuals(centre()));
  std::vector<Eigen::Index> kept;
  std::vector<std::string> paths;
  std::vector<Parameter> priors;
  for (Eigen::Index j = 0; j < size(); ++j) {
    const auto k = static_cast<std::size_t>(j);
    // Residuals are in units of their noise. A parameter below the limit could not be distinguished from noise, but
    // each iteration would run all of its cases once more.
    if (jacobian_.col(j).cwiseAbs().maxCoeff() * deviation_of(priors_[k]) < least) continue;
    kept.push_back(j);
    paths.push_back(paths_[k]);
    priors.push_back(priors_[k]);
  }
  jacobian_ = Eigen::MatrixXd(jacobian_(Eigen::all, kept));
  paths_ = std::move(paths);
  priors_ = std::move(priors);
  taken_at_ = centre();
}

Eigen::VectorXd LogProblem::centre() const { return centre_of(priors_); }

Eigen::VectorXd LogProblem::place(const Hardware& hardware) const {
  Hardware h = hardware;
  Eigen::VectorXd theta(size());
  for (Eigen::Index j = 0; j < size(); ++j) theta[j] = std::log(h.find(paths_[static_cast<std::size_t>(j)])->value);
  return theta;
}

Eigen::VectorXd LogProblem::precision() const { return precision_of(priors_); }

Hardware LogProblem::hardware(const Eigen::VectorXd& theta) const { return hardware_at(prior_, paths_, theta); }

void LogProblem::write_residuals(std::size_t c, const Hardware& hardware, Eigen::VectorXd& to) const {
  const std::vector<double> ratios = cases_[c].ratios(hardware);
  for (std::size_t k = 0; k < ratios.size(); ++k)
    to[static_cast<Eigen::Index>(first_[c] + k)] = ratios[k] / cases_[c].noise[k];
}

Eigen::VectorXd LogProblem::residuals(const Eigen::VectorXd& theta) {
  const Hardware h = hardware(theta);
  Eigen::VectorXd r(static_cast<Eigen::Index>(figures_));
  // Cases write to disjoint rows, so the result does not depend on the number of threads.
  in_parallel(cases_.size(), thread_count(0), [&](std::size_t c) {
    stop_if_requested();
    write_residuals(c, h, r);
  });
  return r;
}

/// Figures are nearly linear in the logarithms, so a column is computed anew only if its parameter has moved.
const Eigen::MatrixXd& LogProblem::derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& at) {
  constexpr double moved_enough = 0.3;
  std::vector<Eigen::Index> columns;
  // Written so that NaN, a column that was never computed, counts as moved.
  for (Eigen::Index j = 0; j < size(); ++j)
    if (!(std::abs(theta[j] - taken_at_[j]) <= moved_enough)) {
      columns.push_back(j);
      taken_at_[j] = theta[j];
    }
  std::vector<Hardware> moved;
  for (const Eigen::Index j : columns) {
    Eigen::VectorXd there = theta;
    there[j] += step_;
    moved.push_back(hardware(there));
  }
  in_parallel(cases_.size(), thread_count(0), [&](std::size_t c) {
    const auto first = static_cast<Eigen::Index>(first_[c]);
    const auto count = static_cast<Eigen::Index>(cases_[c].noise.size());
    Eigen::VectorXd there = at;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      stop_if_requested();
      // Rows of cases that do not use the parameter stay zero without a forecast.
      jacobian_.col(columns[k]).segment(first, count).setZero();
      if (!uses(c, paths_[static_cast<std::size_t>(columns[k])])) continue;
      write_residuals(c, moved[k], there);
      jacobian_.col(columns[k]).segment(first, count) =
          (there.segment(first, count) - at.segment(first, count)) / step_;
    }
  });
  return jacobian_;
}

void LogProblem::restart(const Eigen::MatrixXd& derivatives, const Eigen::VectorXd& at) {
  jacobian_ = derivatives;
  taken_at_ = at;
}

LeastSquares LogProblem::task(int iterations, Eigen::VectorXd weights) {
  LeastSquares task;
  task.residuals = [this](const Eigen::VectorXd& theta) { return residuals(theta); };
  task.derivatives = [this](const Eigen::VectorXd& theta, const Eigen::VectorXd& r) -> Eigen::MatrixXd {
    return derivatives(theta, r);
  };
  task.weights = std::move(weights);
  task.prior = centre();
  task.precision = precision();
  // In units of the noise: a figure beyond 2.5 standard deviations loses influence [Huber1964].
  task.scale = 2.5;
  // At most a factor of 1.65 per iteration, because the figures are only nearly linear in the logarithms.
  task.longest_step = 0.5;
  task.iterations = iterations;
  task.tolerance = 1e-4;
  return task;
}

Fit LogProblem::posterior(const LeastSquares& task, double loss_before, const Minimum& found) {
  Fit fit;
  fit.hardware = hardware(found.x);
  fit.loss_before = loss_before;
  fit.loss_after = found.loss;
  const Eigen::MatrixXd information = information_at(task, found, derivatives(found.x, found.residuals));
  fit.parameters = log_posterior(paths_, priors_, shares_of(prior_), found.x, information, task.precision);
  // The hardware gets the intervals and samples as well, so a forecast with it needs no profile.
  for (const FittedParameter& p : fit.parameters) *fit.hardware.find(p.path) = p.after;
  return fit;
}

}  // namespace fabricast
