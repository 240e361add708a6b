// Levenberg-Marquardt for robust least squares with priors. solve.cpp (collectives) and log_problem.cpp (steps and
// serving) state their fits in these terms. It knows nothing of hardware, so a test can hold it against NIST's
// Statistical Reference Datasets.
//
// Robustness is by iteratively reweighted least squares: around a point, row i of the linear problem is multiplied by
// the root of w_i rho'(r_i) / (2 r_i). At that point the gradient of this problem is that of the robust loss.
#include "least_squares.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

using Eigen::Index;

double weight(const LeastSquares& problem, Index row) { return problem.weights.size() ? problem.weights[row] : 1; }

double loss_of(const LeastSquares& problem, const Minimum& at) {
  if (!at.residuals.allFinite()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  // Rows of weight zero are skipped and not multiplied: their residuals are not computed and their loss means nothing.
  for (Index i = 0; i < at.residuals.size(); ++i)
    if (const double w = weight(problem, i); w > 0) sum += w * robust_loss(at.residuals[i], problem.scale);
  const Eigen::MatrixXd prior = prior_root(problem, at.x.size());
  return prior.rows() > 0 ? sum + (prior * (at.x - problem.prior)).squaredNorm() : sum;
}

/// The linear problem around a point: rows of the data, multiplied by the roots of their weights, then rows of the
/// prior.
struct Linear {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd right;
};

Linear linear_at(const LeastSquares& problem, const Minimum& at, const Eigen::MatrixXd& derivatives) {
  const Index rows = derivatives.rows(), unknowns = derivatives.cols();
  const Eigen::MatrixXd prior = prior_root(problem, unknowns);
  Linear l{Eigen::MatrixXd(rows + prior.rows(), unknowns), Eigen::VectorXd(rows + prior.rows())};
  for (Index i = 0; i < rows; ++i) {
    const double root = std::sqrt(weight(problem, i) * robust_weight(at.residuals[i], problem.scale));
    l.matrix.row(i) = root * derivatives.row(i);
    l.right[i] = -root * at.residuals[i];
  }
  if (prior.rows() == 0) return l;
  l.matrix.bottomRows(prior.rows()) = prior;
  l.right.tail(prior.rows()) = -prior * (at.x - problem.prior);
  return l;
}

/// The triangular factor and right side of the same problem. It makes further attempts with other damping cheap.
Linear triangle_of(const Linear& l) {
  // With fewer rows than unknowns there is nothing to reduce.
  if (l.matrix.rows() <= l.matrix.cols()) return l;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(l.matrix);
  const Index n = l.matrix.cols();
  return {qr.matrixQR().topRows(n).triangularView<Eigen::Upper>(),
          Eigen::VectorXd(qr.householderQ().transpose() * l.right).head(n)};
}

/// The damped step. Columns are divided by `scales`, because unknowns may differ by many orders of magnitude.
Eigen::VectorXd damped_step(const Linear& l, const Eigen::VectorXd& scales, double damping) {
  const Index rows = l.matrix.rows(), n = l.matrix.cols();
  Eigen::MatrixXd matrix(rows + n, n);
  // Damping as additional rows sqrt(damping) I keeps the problem one of least squares, which QR solves without squaring
  // the condition number as normal equations would.
  matrix << l.matrix * scales.cwiseInverse().asDiagonal(), std::sqrt(damping) * Eigen::MatrixXd::Identity(n, n);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(rows + n);
  right.head(rows) = l.right;
  return matrix.householderQr().solve(right).cwiseQuotient(scales);
}

}  // namespace

Eigen::MatrixXd prior_root(const LeastSquares& problem, Index unknowns) {
  const Index own = problem.precision.size(), bonds = problem.bonds.rows();
  Eigen::MatrixXd root = Eigen::MatrixXd::Zero(own + bonds, unknowns);
  if (own > 0) root.topRows(own).diagonal() = problem.precision.cwiseSqrt();
  if (bonds > 0) root.bottomRows(bonds) = problem.bonds;
  return root;
}

double robust_loss(double r, double scale) {
  // log1p keeps the digits of small residuals, for which rho(r) = r^2 to first order.
  return std::isinf(scale) ? r * r : scale * scale * std::log1p(r * r / (scale * scale));
}

double robust_weight(double r, double scale) { return std::isinf(scale) ? 1 : 1 / (1 + r * r / (scale * scale)); }

Minimum evaluate(const LeastSquares& problem, Eigen::VectorXd x) {
  Minimum at;
  at.x = std::move(x);
  at.residuals = problem.residuals(at.x);
  at.loss = loss_of(problem, at);
  return at;
}

Minimum minimize(const LeastSquares& problem, Minimum at) {
  constexpr double most_damping = 1e15;
  double damping = problem.damping, growth = 2;
  Eigen::VectorXd lengths = Eigen::VectorXd::Zero(at.x.size());  // largest lengths of the columns so far
  for (int iteration = 0; iteration < problem.iterations; ++iteration) {
    if (problem.progress) problem.progress(iteration, at.loss);
    // Derivatives cost far more than the linear algebra: they are taken once per iteration, and all attempts at a step
    // share them.
    const Linear linear = triangle_of(linear_at(problem, at, problem.derivatives(at.x, at.residuals)));
    // Lengths never shrink. A column that becomes short, because its rows are outliers at this point, keeps its
    // damping, and its unknown does not jump. A column of zeros gets the scale 1.
    lengths = lengths.cwiseMax(Eigen::VectorXd(linear.matrix.colwise().norm().transpose()));
    const Eigen::VectorXd scales = (lengths.array() > 0).select(lengths, 1.0);
    double gain = -1;
    while (gain < 0 && damping < most_damping) {
      Eigen::VectorXd step = damped_step(linear, scales, damping);
      // Each unknown is limited on its own. The predicted gain below is computed for the limited step.
      for (double& s : step) s = std::clamp(s, -problem.longest_step, problem.longest_step);
      const double hoped = linear.right.squaredNorm() - (linear.matrix * step - linear.right).squaredNorm();
      // The comparison is false for NaN as well, so a degenerate linear problem ends the search instead of looping.
      if (!(hoped > 1e-3 * problem.tolerance * at.loss)) return at;
      // A point that is not admissible has an infinite loss, so it counts as a failed attempt and the damping grows.
      Minimum trial = evaluate(problem, at.x + step);
      if (trial.loss < at.loss) {
        gain = at.loss - trial.loss;
        // The damping changes with the fraction of the predicted gain that was achieved [Nielsen1999].
        damping *= std::max(1.0 / 3, 1 - std::pow(2 * gain / hoped - 1, 3));
        growth = 2;
        at = std::move(trial);
      } else {
        damping *= growth;
        growth *= 2;
      }
    }
    if (gain < problem.tolerance * at.loss) break;
  }
  return at;
}

Eigen::MatrixXd information_at(const LeastSquares& problem, const Minimum& at, const Eigen::MatrixXd& derivatives) {
  const Linear l = linear_at(problem, at, derivatives);
  const auto data = l.matrix.topRows(derivatives.rows());
  return data.transpose() * data;
}

}  // namespace fabricast
