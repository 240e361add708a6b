// Decides which parameters the data leave open, and with which others they are confounded (advise.cpp uses it).
//
// With the prior's standard deviations p, effects e and the information matrix I of the data:
//
//   V       = ( diag(1/p^2) + I )^-1                    covariance of the logarithms
//   open    : V_jj >= p_j^2 / 2  or  sqrt(V_jj) > ln(1.5) / 1.645,  and  e_j sqrt(V_jj) >= 2 % at 90 %
//   nothing : I_jj < 0.1 / p_j^2
//   together: 1 / ( I_jj + 1/p_j^2 ) < V_jj / 2,  the variance if all others were known is less than half
#include "identify.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fabricast {

namespace {

using Eigen::Index;

constexpr double wide = 0.246;                     // error of a logarithm whose 90 % interval is a factor of 1.5
constexpr double least_identified_effect = 0.012;  // standard deviation: 2 % of forecasts at 90 %
constexpr double least_stated = 0.1;               // fraction of the prior's information below which data say nothing
/// Variance with all others known, relative to the variance now. Below it, other parameters cause the uncertainty.
constexpr double stated_with_others = 0.5;
constexpr std::size_t most_partners = 3, most_parameters = 10;

/// The matrices are symmetric and positive definite, so a Cholesky factorization is enough.
Eigen::MatrixXd inverse_of(const Eigen::MatrixXd& matrix) {
  return matrix.ldlt().solve(Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols()));
}

/// The covariance given that one parameter is known.
Eigen::MatrixXd given(const Eigen::MatrixXd& covariance, Index known) {
  // The Schur complement: the conditional covariance of a multivariate normal distribution.
  return covariance - covariance.col(known) * covariance.row(known) / covariance(known, known);
}

/// The parameter and those whose uncertainty causes most of its own, by forward selection.
std::vector<Index> confounded(Eigen::MatrixXd covariance, Index parameter, double if_all_known) {
  constexpr double least_gain = 0.03;  // of the variance
  std::vector<Index> group{parameter};
  // Stops when the variance is at most 1.5 times what it would be if all others were known: further partners would
  // explain little.
  while (group.size() <= most_partners && covariance(parameter, parameter) > 1.5 * if_all_known) {
    Index best = parameter;
    double gain = least_gain * covariance(parameter, parameter);
    for (Index k = 0; k < covariance.rows(); ++k) {
      // A parameter that is already known has only rounding errors left as variance.
      if (std::find(group.begin(), group.end(), k) != group.end()) continue;
      // The variance of `parameter` that knowing k would remove, see `given`.
      const double stated = covariance(parameter, k) * covariance(parameter, k) / covariance(k, k);
      if (stated > gain) {
        best = k;
        gain = stated;
      }
    }
    if (best == parameter) break;
    group.push_back(best);
    covariance = given(covariance, best);
  }
  return group;
}

/// Exponents of the product that is determined best, relative to how well its factors are determined alone: the
/// eigenvector of the smallest eigenvalue of the correlation matrix.
Eigen::VectorXd best_stated(const Eigen::MatrixXd& covariance) {
  // With the covariance itself, the best-determined direction would simply be the parameter with the smallest error.
  // The correlation matrix asks instead which combination is known much better than its factors.
  const Eigen::VectorXd scale = covariance.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(scale.asDiagonal() * covariance * scale.asDiagonal());
  Eigen::VectorXd powers = scale.cwiseProduct(eigen.eigenvectors().col(0));
  // An eigenvector has no sign. The parameter with the largest effect gets a positive power.
  if (powers[0] < 0) powers = -powers;
  return powers / powers.cwiseAbs().sum();
}

}  // namespace

Eigen::MatrixXd covariance_of(const Knowledge& knowledge) {
  // In units of the priors, whose information is then 1. This is well conditioned even if the data leave much open.
  const auto& prior = knowledge.prior;
  Eigen::MatrixXd scaled = prior.asDiagonal() * knowledge.data * prior.asDiagonal();
  scaled.diagonal().array() += 1;
  return prior.asDiagonal() * inverse_of(scaled) * prior.asDiagonal();
}

std::vector<Unstated> unstated_of(const Knowledge& knowledge) {
  const Eigen::MatrixXd covariance = covariance_of(knowledge);
  const Eigen::VectorXd error = covariance.diagonal().cwiseSqrt(), effect = error.cwiseProduct(knowledge.effect);
  const auto prior_information = [&](Index j) { return 1 / (knowledge.prior[j] * knowledge.prior[j]); };
  std::vector<Index> order(knowledge.paths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return effect[a] > effect[b]; });
  std::vector<Unstated> result;
  std::vector<bool> named(order.size());
  std::size_t count = 0;
  for (const Index j : order) {
    if (count >= most_parameters || effect[j] < least_identified_effect) break;
    const double variance = covariance(j, j);
    const bool is_stated = variance < 0.5 / prior_information(j) && error[j] < wide;
    if (is_stated || named[static_cast<std::size_t>(j)]) continue;
    Unstated u;
    std::vector<Index> group{j};
    const double if_all_known = 1 / (knowledge.data(j, j) + prior_information(j));
    if (knowledge.data(j, j) < least_stated * prior_information(j)) {
      u.stated = Stated::nothing;
    } else {
      if (if_all_known < stated_with_others * variance) group = confounded(covariance, j, if_all_known);
      u.stated = group.size() > 1 ? Stated::together : Stated::little;
    }
    std::stable_sort(group.begin(), group.end(), [&](Index a, Index b) { return effect[a] > effect[b]; });
    for (const Index k : group) {
      u.parameters.push_back({knowledge.paths[static_cast<std::size_t>(k)], error[k], effect[k]});
      // A partner is listed once, with the parameter of the largest effect, and not again on its own.
      named[static_cast<std::size_t>(k)] = true;
    }
    if (group.size() > 1) {
      const Eigen::MatrixXd part = covariance(group, group);
      const Eigen::VectorXd powers = best_stated(part);
      u.powers.assign(powers.begin(), powers.end());
      u.error_together = std::sqrt(powers.dot(part * powers));
    }
    count += group.size();
    result.push_back(std::move(u));
  }
  return result;
}

}  // namespace fabricast
