// The parametric bootstrap of a fit: estimates a model of the residuals, samples errors from it, and maps them to moves
// of the parameters through the fit's linearization.
//
//   e_i    = sigma_band ( sqrt(a) z_system,band + sqrt(1 - a) u_i )          error of row i
//   u_i    = b u_(i-1) + sqrt(1 - b^2) z_i                                   along the sizes of a case, else u_i = z_i
//   moved  = M [ roots x e ; prior_errors x z ]                              M: pseudo-inverse from `linear_fit`
//
// All z are independent standard normal, a is `alike` and b is `neighbours`. The factors sqrt(1 - b^2) and sqrt(1 - a)
// keep the variance of e_i at sigma_band^2.
#include "bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/core/rng.hpp"
#include "source_spread.hpp"

namespace fabricast {

namespace {

using Eigen::Index;

/// The residual whose square is the robust loss: an outlier is shrunk.
double tame(double residual, double scale) { return std::copysign(std::sqrt(robust_loss(residual, scale)), residual); }

/// Rows that count, case by case, with their residuals divided by the spread of their band.
struct Standardized {
  std::vector<std::size_t> rows;
  std::vector<double> values;
};

Standardized standardize(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                         const std::array<double, bands.size()>& spread) {
  Standardized s;
  for (std::size_t i = 0; i < problem.rows().size(); ++i) {
    const auto k = static_cast<Index>(i);
    const double unit = spread[problem.rows()[i].band];
    // A band in which every residual is zero has no spread to divide by.
    if (!(task.weights[k] > 0) || !(unit > 0)) continue;
    s.rows.push_back(i);
    s.values.push_back(tame(point.residuals[k], task.scale) / unit);
  }
  return s;
}

/// Mean product of residuals of different cases of one system in one band. The square of the sum of all residuals
/// contains all products; the squares of the cases' sums contain those within a case, which are subtracted.
double alike_of(const FitProblem& problem, const Standardized& s) {
  std::map<std::pair<std::string, std::size_t>, std::map<std::size_t, std::pair<double, int>>> cases;
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    const FitProblem::Row& row = problem.rows()[s.rows[i]];
    auto& [sum, count] = cases[{row.system, row.band}][row.runner];
    sum += s.values[i];
    ++count;
  }
  double products = 0, pairs = 0;
  for (const auto& [key, sums] : cases) {
    double all = 0, own = 0, n = 0, own_pairs = 0;
    for (const auto& [runner, sum] : sums) {
      all += sum.first;
      own += sum.first * sum.first;
      n += sum.second;
      own_pairs += static_cast<double>(sum.second) * sum.second;
    }
    // (sum of all)^2 - sum over cases of (sum of the case)^2 = sum over pairs of rows of different cases, in both
    // orders; the number of pairs follows in the same way. The residuals have variance 1, so the mean product is a
    // correlation.
    products += all * all - own;
    pairs += n * n - own_pairs;
  }
  // A negative estimate means that nothing is shared. The upper limit leaves each case some error of its own;
  // `neighbours_of` divides by it.
  return pairs > 0 ? std::clamp(products / pairs, 0.0, 0.9) : 0;
}

/// Correlation of neighbouring sizes of a case, without the part that cases of a system share.
double neighbours_of(const FitProblem& problem, const Standardized& s, double alike) {
  double products = 0, squares = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    squares += s.values[i] * s.values[i];
    // Rows are ordered by case and then by size, so the predecessor is the neighbouring size of the same case.
    if (i == 0 || problem.rows()[s.rows[i]].runner != problem.rows()[s.rows[i - 1]].runner) continue;
    products += s.values[i] * s.values[i - 1];
    ++pairs;
  }
  if (pairs == 0) return 0;
  // Neighbours are alike for two reasons, what the system shares and what the case shares along its sizes. With shares
  // a and (1 - a) of the variance, correlation = a + (1 - a) b; the last line solves for b.
  const double correlation = products / pairs / (squares / static_cast<double>(s.rows.size()));
  return std::clamp((correlation - alike) / (1 - alike), 0.0, 0.98);
}

/// Sampled errors of all rows; zero for those that do not count.
Eigen::VectorXd sample_errors(const FitProblem& problem, const FitTask& task, const ErrorModel& model, Rng& rng) {
  Eigen::VectorXd errors = Eigen::VectorXd::Zero(static_cast<Index>(problem.rows().size()));
  std::map<std::pair<std::string, std::size_t>, double> common;
  std::size_t runner = problem.rows().size();
  double own = 0;
  for (std::size_t i = 0; i < problem.rows().size(); ++i) {
    const FitProblem::Row& row = problem.rows()[i];
    if (!(task.weights[static_cast<Index>(i)] > 0)) continue;
    // One common error per system and band, sampled when its first row is reached. The order of rows is fixed, so the
    // sequence of random numbers and with it the result is reproducible.
    const auto [system, is_new] = common.try_emplace({row.system, row.band}, 0.0);
    if (is_new) system->second = rng.normal();
    const double fresh = rng.normal();
    own = row.runner == runner ? model.neighbours * own + std::sqrt(1 - model.neighbours * model.neighbours) * fresh
                               : fresh;
    runner = row.runner;
    errors[static_cast<Index>(i)] =
        model.spread[row.band] * (std::sqrt(model.alike) * system->second + std::sqrt(1 - model.alike) * own);
  }
  return errors;
}

}  // namespace

ErrorModel error_model(const FitProblem& problem, const FitTask& task, const FitPoint& point, double parameters_used) {
  ErrorModel model;
  std::array<double, bands.size()> squares{}, weights{};
  std::array<std::vector<std::pair<double, double>>, bands.size()> sizes;
  double rows = 0;
  for (std::size_t i = 0; i < problem.rows().size(); ++i) {
    const auto k = static_cast<Index>(i);
    if (!(task.weights[k] > 0)) continue;
    const std::size_t band = problem.rows()[i].band;
    // The spread tames outliers, because a normal distribution is sampled with it. The tails keep them, because a
    // profile reports how far off forecasts are in 9 of 10 rows.
    sizes[band].emplace_back(std::abs(point.residuals[k]), task.weights[k]);
    squares[band] += task.weights[k] * robust_loss(point.residuals[k], task.scale);
    weights[band] += task.weights[k];
    ++rows;
  }
  // Corrects for the share of the errors that the parameters have absorbed. The correction is applied twice, because
  // few rows also determine their own spread poorly [MacKinnonWhite1985].
  const double freedom = std::pow(rows / std::max(1.0, rows - parameters_used), 2);
  for (std::size_t b = 0; b < bands.size(); ++b)
    if (weights[b] > 0) {
      model.spread[b] = std::sqrt(freedom * squares[b] / weights[b]);
      model.tails[b] = std::sqrt(freedom) * quantile_of(std::move(sizes[b]), 0.9) / quantile_95;
    }
  const Standardized s = standardize(problem, task, point, model.spread);
  if (s.rows.empty()) return model;
  model.alike = alike_of(problem, s);
  model.neighbours = neighbours_of(problem, s, model.alike);
  return model;
}

Bootstrap bootstrap(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                    const Linearization& derivatives, int replicates, std::uint64_t seed) {
  const LinearFit linear = linear_fit(problem, task, point, derivatives);
  const auto unknowns = static_cast<Index>(task.free.size()), rows = static_cast<Index>(problem.rows().size());
  Bootstrap b{error_model(problem, task, point, linear.parameters_used), Eigen::MatrixXd(replicates, unknowns)};
  Rng rng(seed);
  for (int r = 0; r < replicates; ++r) {
    Eigen::VectorXd right(rows + linear.prior_errors.size());
    // The rows of the linear problem are scaled by the roots of their weights; the errors must be scaled alike.
    right.head(rows) = linear.roots.cwiseProduct(sample_errors(problem, task, b.errors, rng));
    // Centres of the priors and siblings are sampled too. Otherwise a parameter that the data barely determine would
    // stay at its prior in every replicate and seem certain.
    for (Index k = rows; k < right.size(); ++k) right[k] = linear.prior_errors[k - rows] * rng.normal();
    b.moved.row(r) = (linear.solution * right).transpose();
  }
  return b;
}

}  // namespace fabricast
