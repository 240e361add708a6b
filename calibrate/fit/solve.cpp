// States the fit of collectives (fit.hpp) as a least-squares problem in the free parameters, reuses derivatives between
// fits, and gives its linearization for the bootstrap.
//
// The weights w of priors and w_s of siblings are fractions of the N rows that count, so their influence relative to
// the data is the same for few and for many rows:
//
//   q_j = w N / sigma_j^2                               precision of a prior
//   B   = sqrt(w_s N) / 0.3 ( I - 1/n )                 in each family of n siblings: distance from their mean
#include "solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace fabricast {

namespace {

using Eigen::Index;

/// Half the width of the logarithmic interval. An end that is missing or zero is replaced, 2 % above and a factor of 50
/// below the value. The lower limit of 0.01 keeps a nearly constant parameter from dominating the loss.
double prior_sigma(const Parameter& p) {
  return std::max(0.01, std::log(std::max(p.high, p.value * 1.02) / std::max(p.low, p.value * 0.02)) / 2);
}

/// The name that siblings share: the path without the architecture or network.
std::string family_of(const std::string& path) {
  const auto first = path.find('.'), last = path.rfind('.');
  const std::string section = path.substr(0, first);
  return section == "architectures" || section == "networks" ? section + path.substr(last) : path;
}

constexpr double sibling_sigma = 0.3;  // half the width of the range that contains 90 % of siblings, as a logarithm

/// N, the number of rows that count.
double counted(const FitTask& task) { return static_cast<double>((task.weights.array() > 0).count()); }

/// The loss of a distance of one sigma. \param weight  as a fraction of all rows
double pull_of(const FitTask& task, double weight) { return weight * counted(task); }

double prior_precision(const FitProblem& problem, const FitTask& task, std::size_t j) {
  const double sigma = prior_sigma(problem.priors()[j]);
  return pull_of(task, task.prior_weight) / (sigma * sigma);
}

/// One row for every free parameter with free siblings: its distance from their mean.
Eigen::MatrixXd bonds_of(const FitProblem& problem, const FitTask& task) {
  const auto unknowns = static_cast<Index>(task.free.size());
  std::map<std::string, std::vector<Index>> families;
  for (Index k = 0; k < unknowns; ++k)
    families[family_of(problem.parameters()[task.free[static_cast<std::size_t>(k)]])].push_back(k);
  // A parameter without siblings is its own mean, and its row would be zero.
  std::erase_if(families, [](const auto& family) { return family.second.size() < 2; });
  Index rows = 0;
  for (const auto& [name, members] : families) rows += static_cast<Index>(members.size());
  Eigen::MatrixXd bonds = Eigen::MatrixXd::Zero(rows, unknowns);
  Index row = 0;
  for (const auto& [name, members] : families)
    for (const Index member : members) {
      for (const Index other : members) bonds(row, other) = -1 / static_cast<double>(members.size());
      bonds(row++, member) += 1;
    }
  return std::sqrt(pull_of(task, task.sibling_weight)) / sibling_sigma * bonds;
}

Eigen::VectorXd free_part(const FitTask& task, const Eigen::VectorXd& theta) {
  Eigen::VectorXd x(static_cast<Index>(task.free.size()));
  for (Index k = 0; k < x.size(); ++k) x[k] = theta[static_cast<Index>(task.free[static_cast<std::size_t>(k)])];
  return x;
}

Eigen::VectorXd with_free_part(const FitTask& task, Eigen::VectorXd theta, const Eigen::VectorXd& x) {
  for (Index k = 0; k < x.size(); ++k) theta[static_cast<Index>(task.free[static_cast<std::size_t>(k)])] = x[k];
  return theta;
}

/// Computes derivatives of the free parameters that have none or have moved.
void refresh(const FitProblem& problem, const FitTask& task, const Eigen::VectorXd& theta,
             const Eigen::VectorXd& residuals, Linearization& derivatives) {
  constexpr double far = 0.02;
  std::vector<std::size_t> stale;
  for (const std::size_t j : task.free) {
    const auto k = static_cast<Index>(j);
    // Written so that NaN, a column that was never computed, is stale.
    if (!(std::abs(theta[k] - derivatives.at[k]) <= far)) {
      stale.push_back(j);
      derivatives.at[k] = theta[k];
    }
  }
  problem.differentiate(theta, residuals, task.weights, stale, derivatives.jacobian);
}

Eigen::MatrixXd free_columns(const FitTask& task, const Linearization& derivatives) {
  Eigen::MatrixXd columns(derivatives.jacobian.rows(), static_cast<Index>(task.free.size()));
  for (Index k = 0; k < columns.cols(); ++k)
    columns.col(k) = derivatives.jacobian.col(static_cast<Index>(task.free[static_cast<std::size_t>(k)]));
  return columns;
}

/// The loss of a FitPoint is divided by the number of rows that count.
FitPoint fit_point(const FitTask& task, const Eigen::VectorXd& theta, Minimum m) {
  return {with_free_part(task, theta, m.x), std::move(m.residuals), m.loss / counted(task)};
}

Minimum minimum_of(const FitTask& task, const FitPoint& point) {
  return {free_part(task, point.theta), point.residuals, point.loss * counted(task)};
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
    // With an exponent above -1, a system with many rows has a little more weight than one with few.
    weights[static_cast<Index>(i)] = out ? 0 : std::pow(rows_of[{rows[i].system, rows[i].band}], -0.75);
    count += out ? 0 : 1;
  }
  return count > 0 ? Eigen::VectorXd(weights * (count / weights.sum())) : weights;
}

LeastSquares least_squares(const FitProblem& problem, const FitTask& task, const Eigen::VectorXd& theta,
                           Linearization* derivatives) {
  LeastSquares l;
  // `theta` holds the parameters that are not free; the unknowns x replace the free ones.
  l.residuals = [&problem, &task, theta](const Eigen::VectorXd& x) {
    return problem.residuals(with_free_part(task, theta, x), task.weights);
  };
  if (derivatives)
    l.derivatives = [&problem, &task, theta, derivatives](const Eigen::VectorXd& x, const Eigen::VectorXd& residuals) {
      refresh(problem, task, with_free_part(task, theta, x), residuals, *derivatives);
      return free_columns(task, *derivatives);
    };
  l.weights = task.weights;
  l.prior = free_part(task, problem.prior_point());
  l.precision.resize(l.prior.size());
  for (Index k = 0; k < l.prior.size(); ++k)
    l.precision[k] = prior_precision(problem, task, task.free[static_cast<std::size_t>(k)]);
  if (task.sibling_weight > 0) l.bonds = bonds_of(problem, task);
  l.scale = task.scale;
  l.iterations = task.iterations;
  l.longest_step = 0.7;  // beyond a factor of two, the linear approximation is a guess
  if (task.progress)
    l.progress = [&task](int iteration, double loss) { task.progress(iteration, loss / counted(task)); };
  return l;
}

FitPoint evaluate(const FitProblem& problem, const FitTask& task, const Eigen::VectorXd& theta) {
  return fit_point(task, theta, evaluate(least_squares(problem, task, theta, nullptr), free_part(task, theta)));
}

FitPoint solve(const FitProblem& problem, const FitTask& task, FitPoint point, Linearization& derivatives) {
  // Possible in cross-validation: without the systems that are left out, no parameter may be identified.
  if (task.free.empty()) return point;
  const LeastSquares l = least_squares(problem, task, point.theta, &derivatives);
  FitPoint best = fit_point(task, point.theta, minimize(l, minimum_of(task, point)));
  // Intervals and the bootstrap linearize at the minimum, not at the point of the last step.
  refresh(problem, task, best.theta, best.residuals, derivatives);
  return best;
}

double prior_deviation(const Parameter& prior) { return prior_sigma(prior) / quantile_95; }

LinearFit linear_fit(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                     const Linearization& derivatives) {
  const LeastSquares l = least_squares(problem, task, point.theta, nullptr);
  const Eigen::MatrixXd columns = free_columns(task, derivatives);
  const Index rows = columns.rows(), unknowns = columns.cols();
  const Eigen::MatrixXd prior = prior_root(l, unknowns);
  LinearFit fit;
  fit.roots.resize(rows);
  for (Index i = 0; i < rows; ++i)
    fit.roots[i] = std::sqrt(task.weights[i] * robust_weight(point.residuals[i], task.scale));
  // Sigma of priors and siblings is the half width of a 90 % range; the roots divide by it.
  fit.prior_errors.setConstant(prior.rows(), std::sqrt(pull_of(task, task.sibling_weight)) / quantile_95);
  fit.prior_errors.head(unknowns).setConstant(std::sqrt(pull_of(task, task.prior_weight)) / quantile_95);
  Eigen::MatrixXd matrix(rows + prior.rows(), unknowns);
  matrix << fit.roots.asDiagonal() * columns, prior;
  // The pseudo-inverse exists even if the weights leave a direction undetermined, which then does not move.
  fit.solution = matrix.completeOrthogonalDecomposition().pseudoInverse();
  // The trace of the hat matrix A M restricted to the rows of the data: each parameter counts with the fraction that
  // the data and not its prior determine.
  fit.parameters_used = fit.solution.leftCols(rows).cwiseProduct(matrix.topRows(rows).transpose()).sum();
  return fit;
}

std::vector<double> errors_by_data(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                                   const Linearization& derivatives) {
  const Eigen::MatrixXd information = information_at(least_squares(problem, task, point.theta, nullptr),
                                                     minimum_of(task, point), free_columns(task, derivatives));
  double squares = 0;
  // Errors of rows of one system are correlated, so systems times bands count as the number of independent data.
  std::set<std::pair<std::string, std::size_t>> groups;
  for (std::size_t i = 0; i < problem.rows().size(); ++i) {
    const auto k = static_cast<Index>(i);
    if (!(task.weights[k] > 0)) continue;
    squares += task.weights[k] * robust_loss(point.residuals[k], task.scale);
    groups.emplace(problem.rows()[i].system, problem.rows()[i].band);
  }
  const double variance = squares / static_cast<double>(groups.size());
  std::vector<double> errors;
  for (const double stated : information.diagonal())
    errors.push_back(stated > 0 ? std::sqrt(variance / stated) : std::numeric_limits<double>::infinity());
  return errors;
}

}  // namespace fabricast
