#include "solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace fabricast {

namespace {

using Eigen::Index;

/// Cauchy's loss: a system that is not what its source says can not lead the others astray.
double robust(double r, double scale) { return scale * scale * std::log1p(r * r / (scale * scale)); }
double robust_weight(double r, double scale) { return 1 / (1 + r * r / (scale * scale)); }

double prior_sigma(const Parameter& p) {
  return std::max(0.01, std::log(std::max(p.high, p.value * 1.02) / std::max(p.low, p.value * 0.02)) / 2);
}

double counted(const FitTask& task) { return static_cast<double>((task.weights.array() > 0).count()); }

double prior_precision(const FitProblem& problem, const FitTask& task, std::size_t j) {
  const double sigma = prior_sigma(problem.priors()[j]);
  return task.prior_weight * counted(task) / (sigma * sigma);
}

double from_prior(const FitProblem& problem, const Eigen::VectorXd& theta, std::size_t j) {
  return theta[static_cast<Index>(j)] - std::log(problem.priors()[j].value);
}

double loss(const FitProblem& problem, const FitTask& task, const FitPoint& point) {
  double sum = 0;
  for (Index i = 0; i < task.weights.size(); ++i)
    if (task.weights[i] > 0) sum += task.weights[i] * robust(point.residuals[i], task.scale);
  for (const std::size_t j : task.free) {
    const double d = from_prior(problem, point.theta, j);
    sum += prior_precision(problem, task, j) * d * d;
  }
  return sum / counted(task);
}

/// Takes the derivatives of the free parameters that have none, or have moved.
void refresh(const FitProblem& problem, const FitTask& task, const FitPoint& point, Linearization& derivatives) {
  constexpr double far = 0.02;
  std::vector<std::size_t> stale;
  for (const std::size_t j : task.free) {
    const auto k = static_cast<Index>(j);
    if (!(std::abs(point.theta[k] - derivatives.at[k]) <= far)) stale.push_back(j), derivatives.at[k] = point.theta[k];
  }
  problem.differentiate(point.theta, point.residuals, task.weights, stale, derivatives.jacobian);
}

struct NormalEquations {
  Eigen::MatrixXd data, both;
  Eigen::VectorXd gradient;
};

NormalEquations normal_equations(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                                 const Linearization& derivatives) {
  const auto n = static_cast<Index>(task.free.size());
  Eigen::MatrixXd jacobian(task.weights.size(), n);
  for (Index k = 0; k < n; ++k)
    jacobian.col(k) = derivatives.jacobian.col(static_cast<Index>(task.free[static_cast<std::size_t>(k)]));
  Eigen::VectorXd weight = task.weights;
  for (Index i = 0; i < weight.size(); ++i) weight[i] *= robust_weight(point.residuals[i], task.scale);
  NormalEquations e;
  e.data = jacobian.transpose() * weight.asDiagonal() * jacobian;
  e.gradient = jacobian.transpose() * weight.asDiagonal() * point.residuals;
  e.both = e.data;
  for (Index k = 0; k < n; ++k) {
    const std::size_t j = task.free[static_cast<std::size_t>(k)];
    const double precision = prior_precision(problem, task, j);
    e.both(k, k) += precision;
    e.gradient[k] += precision * from_prior(problem, point.theta, j);
  }
  return e;
}

}  // namespace

Linearization no_derivatives(const FitProblem& problem) {
  const auto n = static_cast<Index>(problem.parameters().size()), m = static_cast<Index>(problem.rows().size());
  return {Eigen::MatrixXd::Zero(m, n), Eigen::VectorXd::Constant(n, std::numeric_limits<double>::quiet_NaN())};
}

Eigen::VectorXd row_weights(const FitProblem& problem, const std::vector<std::string>& left_out) {
  const auto& rows = problem.rows();
  std::map<std::pair<std::string, std::size_t>, double> rows_of;
  for (const auto& r : rows) rows_of[{r.system, r.band}] += 1;
  Eigen::VectorXd weights(static_cast<Index>(rows.size()));
  double count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool out = std::find(left_out.begin(), left_out.end(), rows[i].system) != left_out.end();
    // A system of many rows weighs a little more than one of few.
    weights[static_cast<Index>(i)] = out ? 0 : std::pow(rows_of[{rows[i].system, rows[i].band}], -0.75);
    count += out ? 0 : 1;
  }
  return count > 0 ? Eigen::VectorXd(weights * (count / weights.sum())) : weights;
}

FitPoint evaluate(const FitProblem& problem, const FitTask& task, Eigen::VectorXd theta) {
  FitPoint point;
  point.theta = std::move(theta);
  point.residuals = problem.residuals(point.theta, task.weights);
  point.loss = loss(problem, task, point);
  return point;
}

FitPoint solve(const FitProblem& problem, const FitTask& task, FitPoint point, Linearization& derivatives) {
  if (task.free.empty()) return point;
  double damping = 1e-2;
  for (int iteration = 0; iteration < task.iterations; ++iteration) {
    if (task.progress) task.progress(iteration, point.loss);
    refresh(problem, task, point, derivatives);
    const NormalEquations e = normal_equations(problem, task, point, derivatives);
    bool better = false;
    double gain = 0;
    for (int attempt = 0; attempt < 6 && !better; ++attempt) {
      Eigen::MatrixXd damped = e.both;
      damped.diagonal() += damping * e.both.diagonal();
      const Eigen::VectorXd step = damped.ldlt().solve(-e.gradient);
      Eigen::VectorXd theta = point.theta;
      // A step of more than a factor two is a guess beyond the linear picture.
      for (std::size_t k = 0; k < task.free.size(); ++k)
        theta[static_cast<Index>(task.free[k])] += std::clamp(step[static_cast<Index>(k)], -0.7, 0.7);
      FitPoint trial = evaluate(problem, task, std::move(theta));
      if (trial.loss < point.loss) {
        better = true;
        gain = point.loss - trial.loss;
        point = std::move(trial);
        damping = std::max(1e-6, damping / 5);
      } else {
        damping *= 6;
      }
    }
    if (!better || gain < 1e-5 * point.loss) break;
  }
  refresh(problem, task, point, derivatives);
  return point;
}

FitErrors errors_at(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                    const Linearization& derivatives) {
  const NormalEquations e = normal_equations(problem, task, point, derivatives);
  const Eigen::MatrixXd covariance = e.both.ldlt().solve(Eigen::MatrixXd::Identity(e.both.rows(), e.both.cols()));
  double squares = 0;
  // Rows of one system err together: count systems times bands as the number of independent data.
  std::set<std::pair<std::string, std::size_t>> groups;
  for (std::size_t i = 0; i < problem.rows().size(); ++i) {
    const auto k = static_cast<Index>(i);
    if (!(task.weights[k] > 0)) continue;
    squares += task.weights[k] * robust(point.residuals[k], task.scale);
    groups.emplace(problem.rows()[i].system, problem.rows()[i].band);
  }
  const double variance = squares / static_cast<double>(groups.size());
  FitErrors errors;
  for (Index k = 0; k < e.both.rows(); ++k) {
    errors.both.push_back(std::sqrt(std::max(0.0, covariance(k, k)) * variance));
    errors.by_data.push_back(e.data(k, k) > 0 ? std::sqrt(variance / e.data(k, k))
                                              : std::numeric_limits<double>::infinity());
  }
  return errors;
}

}  // namespace fabricast
