// The distribution of errors: densities and conditional distributions of a multivariate Student t [Shah2014].
// covariance.cpp has S.
//
//    m  = S_*m S_mm^-1 y
//    v  = (S_** - S_*m S_mm^-1 S_m*) (nu + y' S_mm^-1 y) / (nu + n),      nu + n degrees of freedom
//
// S_mm is factorized once per site. Each row asked for then costs one triangular solve.
#include "fabricast/residual/residual.hpp"

#include <Eigen/Cholesky>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>

#include "covariance.hpp"
#include "fabricast/residual/tails.hpp"

namespace fabricast {

namespace {

/// The squared Mahalanobis distance y^T S^-1 y, from the Cholesky factor of S.
double squared_distance(const Eigen::LLT<Eigen::MatrixXd>& root, std::span<const double> logs) {
  const Eigen::Map<const Eigen::VectorXd> y(logs.data(), static_cast<Eigen::Index>(logs.size()));
  return root.matrixL().solve(y).squaredNorm();
}

}  // namespace

ResidualFamily residual_family(CollectiveOp op) {
  if (op == CollectiveOp::all_reduce) return ResidualFamily::all_reduce;
  return is_point_to_point(op) ? ResidualFamily::peers : ResidualFamily::rings;
}

double Residual::quantile(double probability) const {
  return median + scale * boost::math::quantile(boost::math::students_t(freedom), probability);
}

double Residual::half_width(double probability) const { return quantile((1 + probability) / 2) - median; }

double share_above(const Residual& residual, double log) {
  const boost::math::students_t distribution(residual.freedom);
  return boost::math::cdf(boost::math::complement(distribution, (log - residual.median) / residual.scale));
}

// What all rows asked for have in common. Immutable after construction, so copies and threads share it.
struct SiteResiduals::Solved {
  ResidualModel model;
  std::vector<ResidualRow> measured;
  std::vector<double> logs;
  std::vector<PlacedRow> placed;  ///< point into `measured`
  Eigen::LLT<Eigen::MatrixXd> root;
  Eigen::VectorXd pull;  ///< S^-1 y
  double freedom = 0;
  double widened = 1;  ///< (nu + y^T S^-1 y) / (nu + n): above 1 if the site is further off than expected [Shah2014]
};

SiteResiduals::SiteResiduals(const ResidualModel& model, std::vector<ResidualRow> measured,
                             const std::vector<double>& logs) {
  const auto solved = std::make_shared<Solved>();
  solved_ = solved;
  Solved& s = *solved;
  s.model = model;
  s.measured = std::move(measured);
  s.logs = logs;
  s.placed = placed_rows(model, s.measured);
  const auto n = static_cast<double>(logs.size());
  s.freedom = model.freedom + n;
  if (logs.empty()) return;
  s.root.compute(covariance(model, s.placed));
  const Eigen::Map<const Eigen::VectorXd> y(logs.data(), static_cast<Eigen::Index>(logs.size()));
  s.pull = s.root.solve(y);
  s.widened = (model.freedom + y.dot(s.pull)) / s.freedom;
}

const std::vector<ResidualRow>& SiteResiduals::measured() const { return solved_->measured; }
const std::vector<double>& SiteResiduals::logs() const { return solved_->logs; }

Residual SiteResiduals::of(const ResidualRow& asked) const {
  const Solved& s = *solved_;
  const PlacedRow row = placed_rows(s.model, {&asked, 1}).front();
  const double own = own_variance(s.model, row), before = shared_variance(s.model, row, row) + own;
  if (s.placed.empty()) return {0, std::sqrt(before), s.freedom, 0};
  Eigen::VectorXd with(static_cast<Eigen::Index>(s.placed.size()));
  for (std::size_t i = 0; i < s.placed.size(); ++i)
    with[static_cast<Eigen::Index>(i)] = shared_variance(s.model, row, s.placed[i]);
  // The scatter of the row itself remains even if it repeats a measured row; rounding could leave less.
  const double left = std::max(before - s.root.matrixL().solve(with).squaredNorm(), own);
  return {with.dot(s.pull), std::sqrt(left * s.widened), s.freedom, 1 - left / before};
}

// A weighted sum of rows is a linear function of them: its variance is w' S w, and its covariance with measured rows
// the weighted sum of theirs.
Residual SiteResiduals::of_sum(const std::vector<ResidualRow>& asked, const std::vector<double>& weights) const {
  const Solved& s = *solved_;
  const std::vector<PlacedRow> rows = placed_rows(s.model, asked);
  const Eigen::Map<const Eigen::VectorXd> w(weights.data(), static_cast<Eigen::Index>(weights.size()));
  const double before = w.dot(covariance(s.model, rows) * w);
  if (s.placed.empty()) return {0, std::sqrt(before), s.freedom, 0};
  Eigen::VectorXd with = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(s.placed.size()));
  double own = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    own += own_variance(s.model, rows[r]) * weights[r] * weights[r];
    for (std::size_t i = 0; i < s.placed.size(); ++i)
      with[static_cast<Eigen::Index>(i)] += weights[r] * shared_variance(s.model, rows[r], s.placed[i]);
  }
  const double left = std::max(before - s.root.matrixL().solve(with).squaredNorm(), own);
  return {with.dot(s.pull), std::sqrt(left * s.widened), s.freedom, 1 - left / before};
}

Residual SiteResiduals::of_mean(const std::vector<ResidualRow>& rows) const {
  return of_sum(rows, std::vector<double>(rows.size(), 1 / static_cast<double>(rows.size())));
}

Residual SiteResiduals::of_difference(const ResidualRow& one, const ResidualRow& other) const {
  return of_sum({one, other}, {1, -1});
}

std::vector<Residual> SiteResiduals::of(const std::vector<ResidualRow>& rows) const {
  std::vector<Residual> list;
  for (const ResidualRow& row : rows) list.push_back(of(row));
  return list;
}

double log_density(const ResidualModel& model, std::span<const ResidualRow> rows, std::span<const double> logs,
                   double apart) {
  const auto n = static_cast<double>(rows.size());
  const Eigen::LLT<Eigen::MatrixXd> root(covariance(model, placed_rows(model, rows)));
  // Half the logarithm of the determinant: sum of ln of the diagonal of the Cholesky factor. Scaling errors by `apart`
  // scales S by its square.
  double log_root = n * std::log(apart);
  for (Eigen::Index i = 0; i < root.rows(); ++i) log_root += std::log(root.matrixLLT()(i, i));
  const double distance = squared_distance(root, logs) / (apart * apart), nu = model.freedom;
  //    ln G((nu + n) / 2) - ln G(nu / 2) - n / 2 ln(nu pi) - 1/2 ln |S| - (nu + n) / 2 ln(1 + y' S^-1 y / nu)
  return std::lgamma((nu + n) / 2) - std::lgamma(nu / 2) - n / 2 * std::log(nu * std::numbers::pi) - log_root -
         (nu + n) / 2 * std::log1p(distance / nu);
}

}  // namespace fabricast
