// Information of measured or possible rows about parameters, for `calibrate fit --advise` (advise.cpp). Row i with
// derivatives g_i and error s contributes g_i g_i' / s^2 to Fisher's information matrix.
#include "information.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

using Eigen::Index;

LinearRows::LinearRows(const std::vector<MeasuredCase>& cases, const Hardware& hardware, const FitOptions& options)
    : problem(cases, hardware),
      weights(Eigen::VectorXd::Ones(static_cast<Index>(problem.rows().size()))),
      residuals(problem.residuals(problem.prior_point(), weights)),
      jacobian(no_derivatives(problem).jacobian) {
  std::vector<std::size_t> wanted;
  for (std::size_t j = 0; j < problem.parameters().size(); ++j)
    if (options.takes(problem.parameters()[j])) wanted.push_back(j);
  // The problem was made from the given hardware, so its prior point is that hardware's parameters.
  problem.differentiate(problem.prior_point(), residuals, weights, wanted, jacobian);
}

Eigen::MatrixXd LinearRows::columns(const std::vector<std::string>& paths) const {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(jacobian.rows(), static_cast<Index>(paths.size()));
  const auto& own = problem.parameters();
  // Data and candidates depend on different parameters. Both are brought to the same list of columns.
  for (std::size_t j = 0; j < paths.size(); ++j)
    if (const auto it = std::find(own.begin(), own.end(), paths[j]); it != own.end())
      result.col(static_cast<Index>(j)) = jacobian.col(it - own.begin());
  return result;
}

double noise_of(const LinearRows& data, double scale) {
  // A close fit to few rows would otherwise promise nearly exact parameters.
  constexpr double least = 0.03;
  const Eigen::VectorXd weights = row_weights(data.problem, {});
  double squares = 0;
  for (Index i = 0; i < weights.size(); ++i) squares += weights[i] * robust_loss(data.residuals[i], scale);
  return std::max(least, std::sqrt(squares / std::max(1.0, weights.sum())));
}

Information information_of(const LinearRows& linear, const Eigen::MatrixXd& columns,
                           const std::vector<std::size_t>& rows, double noise, double scale) {
  std::map<std::pair<std::size_t, std::size_t>, double> counts;
  for (const std::size_t i : rows) ++counts[{linear.problem.rows()[i].runner, linear.problem.rows()[i].band}];
  Information information;
  for (const std::size_t i : rows) {
    const FitProblem::Row& row = linear.problem.rows()[i];
    const auto k = static_cast<Index>(i);
    auto& matrix = information[row.runner][row.band];
    if (matrix.size() == 0) matrix = Eigen::MatrixXd::Zero(columns.cols(), columns.cols());
    // Divided by the number of rows of the run in the band: together they count as one measurement, because sizes
    // nearby err together.
    const double weight = robust_weight(linear.residuals[k], scale) / (noise * noise * counts[{row.runner, row.band}]);
    matrix += weight * columns.row(k).transpose() * columns.row(k);
  }
  return information;
}

Eigen::MatrixXd sum_of(const std::map<std::size_t, Eigen::MatrixXd>& by_band, Index size) {
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(size, size);
  for (const auto& [band, matrix] : by_band) sum += matrix;
  return sum;
}

void Effects::add(const LinearRows& linear, const Eigen::MatrixXd& columns, std::size_t i) {
  const FitProblem::Row& row = linear.problem.rows()[i];
  auto& [squares, rows] = sums_[{row.system, linear.problem.measured(row).nodes, row.band}];
  if (rows == 0) squares = Eigen::VectorXd::Zero(columns.cols());
  squares += columns.row(static_cast<Index>(i)).cwiseAbs2();
  ++rows;
}

Eigen::VectorXd Effects::largest(Index size) const {
  Eigen::VectorXd result = Eigen::VectorXd::Zero(size);
  // The largest over the groups and not the mean: a parameter matters if forecasts of some size of job depend on it.
  for (const auto& [key, sum] : sums_) result = result.cwiseMax(sum.first / sum.second);
  return result.cwiseSqrt();
}

}  // namespace fabricast
