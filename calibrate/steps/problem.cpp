// The fit of steps as a least-squares problem. It differs from fit/log_problem.hpp in its derivatives: a step is a
// maximum over what the GPU, the host and the network need, so derivatives jump where the bottleneck changes, and
// forward differences at one point mislead far from it. They are corrected with every residual that the fit computes
// [Broyden1965].
#include "problem.hpp"

#include <algorithm>
#include <cmath>

#include "../fit/log_parameters.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast {

StepProblem::StepProblem(const std::vector<StepCase>& steps, Hardware prior) : prior_(std::move(prior)) {
  for (const StepCase& c : steps)
    if (!c.held_out) chosen_.push_back(&c);
  if (chosen_.empty()) throw UserError("there are no steps to fit to");
  runners_.resize(chosen_.size());
  in_parallel(chosen_.size(), thread_count(0), [&](std::size_t i) { runners_[i].emplace(*chosen_[i]); });
  for (const auto& [path, ref] : prior_.all_parameters()) {
    // Parameters of collectives are fitted to collectives (calibrate/fit), and a runner times collectives only once.
    if (!path.starts_with("compute.") && !path.starts_with("stacks.")) continue;
    if (!(ref.parameter->high > ref.parameter->low) || !(ref.parameter->low > 0)) continue;
    if (path.ends_with(".spread")) continue;  // does not affect times
    const auto uses = [&path = path](const auto& runner) { return runner->uses(path); };
    if (std::none_of(runners_.begin(), runners_.end(), uses)) continue;
    paths_.push_back(path);
    priors_.push_back(*ref.parameter);
  }
  keep_informative();
}

/// Drops the parameters that hardly move any step.
void StepProblem::keep_informative() {
  constexpr double least = 0.2;
  linear_.matrix = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(runners_.size()), size());
  linear_.taken_at = Eigen::VectorXd::Constant(size(), std::nan(""));
  const Eigen::VectorXd start = residuals(centre());
  (void)derivatives(centre(), start);
  std::vector<Eigen::Index> kept;
  for (Eigen::Index j = 0; j < size(); ++j) {
    const double deviation = deviation_of(priors_[static_cast<std::size_t>(j)]);
    // In units of the noise: a parameter that moves no step by a fifth of its noise stays at its prior.
    if (linear_.matrix.col(j).cwiseAbs().maxCoeff() * deviation >= least) kept.push_back(j);
  }
  std::vector<std::string> paths;
  std::vector<Parameter> priors;
  for (const Eigen::Index j : kept) {
    paths.push_back(paths_[static_cast<std::size_t>(j)]);
    priors.push_back(priors_[static_cast<std::size_t>(j)]);
  }
  linear_.matrix = Eigen::MatrixXd(linear_.matrix(Eigen::all, kept));
  paths_ = std::move(paths);
  priors_ = std::move(priors);
  // These derivatives are a property of the steps and the priors alone. Fits without a group start from them, because
  // derivatives taken near the minimum would depend on the measured times of the group.
  linear_.taken_at = linear_.x = centre();
  linear_.at = start;
  at_priors_ = linear_;
}

Eigen::VectorXd StepProblem::centre() const { return centre_of(priors_); }

Eigen::VectorXd StepProblem::precision() const { return precision_of(priors_); }

Hardware StepProblem::hardware(const Eigen::VectorXd& theta) const { return hardware_at(prior_, paths_, theta); }

Eigen::VectorXd StepProblem::residuals(const Eigen::VectorXd& theta) {
  const Hardware h = hardware(theta);
  Eigen::VectorXd r(static_cast<Eigen::Index>(runners_.size()));
  in_parallel(runners_.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    r[static_cast<Eigen::Index>(i)] = residual(i, h);
  });
  return r;
}

/// Applies to each row the smallest change that explains its new residual, in the metric of the priors.
void StepProblem::correct(const Eigen::VectorXd& theta, const Eigen::VectorXd& at) {
  const Eigen::VectorXd moved = theta - linear_.x, weighted = moved.cwiseProduct(precision());
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    double explained = 0, length = 0;
    for (Eigen::Index j = 0; j < size(); ++j) {
      explained += linear_.matrix(row, j) * moved[j];
      if (uses(i, j)) length += weighted[j] * moved[j];
    }
    // What the linear model of the step before did not explain.
    const double missing = at[row] - linear_.at[row] - explained;
    if (!(length > 0) || !std::isfinite(missing)) continue;
    // row += missing (Q s)' / (s' Q s) with the step s and the precisions Q of the priors. Per standard deviation of
    // its prior, each derivative changes in proportion to how far its parameter has moved in these units. Entries of
    // parameters that the step does not use stay zero.
    for (Eigen::Index j = 0; j < size(); ++j)
      if (uses(i, j)) linear_.matrix(row, j) += missing * weighted[j] / length;
  }
}

/// Step times are nearly linear in the logarithms, so a column is computed again only if its parameter has moved far.
const Eigen::MatrixXd& StepProblem::derivatives(const Eigen::VectorXd& theta, const Eigen::VectorXd& at) {
  constexpr double h = 0.03, moved_enough = 0.15;
  // Not on the first call, which has nothing to correct.
  if (linear_.x.size() == size()) correct(theta, at);
  linear_.x = theta;
  linear_.at = at;
  if (!retakes_) return linear_.matrix;
  std::vector<Eigen::Index> columns;
  // Written so that NaN, a column that was never computed, counts as moved.
  for (Eigen::Index j = 0; j < size(); ++j)
    if (!(std::abs(theta[j] - linear_.taken_at[j]) <= moved_enough)) {
      columns.push_back(j);
      linear_.taken_at[j] = theta[j];
    }
  std::vector<Hardware> moved;
  for (const Eigen::Index j : columns) {
    Eigen::VectorXd there = theta;
    there[j] += h;
    // One hardware per column, built before the parallel part: all steps share it.
    moved.push_back(hardware(there));
  }
  in_parallel(runners_.size(), thread_count(0), [&](std::size_t i) {
    const auto row = static_cast<Eigen::Index>(i);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      stop_if_requested();
      linear_.matrix(row, columns[c]) = uses(i, columns[c]) ? (residual(i, moved[c]) - at[row]) / h : 0;
    }
  });
  return linear_.matrix;
}

std::vector<StepRow> StepProblem::forecast(const std::vector<std::size_t>& steps, const Hardware& hardware) {
  std::vector<StepRow> rows(steps.size());
  in_parallel(steps.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    rows[i] = step_row(*chosen_[steps[i]], *runners_[steps[i]], hardware);
  });
  return rows;
}

double StepProblem::residual(std::size_t i, const Hardware& h) {
  return std::log(runners_[i]->time(h) / chosen_[i]->measured) / chosen_[i]->noise;
}

LeastSquares StepProblem::task(int iterations, Eigen::VectorXd weights) {
  LeastSquares task;
  task.residuals = [this](const Eigen::VectorXd& theta) { return residuals(theta); };
  task.derivatives = [this](const Eigen::VectorXd& theta, const Eigen::VectorXd& r) -> Eigen::MatrixXd {
    return derivatives(theta, r);
  };
  task.weights = std::move(weights);
  task.prior = centre();
  task.precision = precision();
  task.scale = 2.5;  // scale of Cauchy's loss, in units of the noise
  // A factor of 1.65 at most, because the linear model holds only nearby.
  task.longest_step = 0.5;
  task.iterations = iterations;
  task.tolerance = 1e-4;
  return task;
}

}  // namespace fabricast
