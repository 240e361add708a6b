#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

const SiteModel& shipped_sites() {
  static const SiteModel model{{0.17, 0.16, 0.16, 0.06}, 6, 0.05, 3};
  return model;
}

namespace {

/// Passes over the rows' variances: the last ones change nothing to speak of.
constexpr int reweightings = 8;

/// Offsets fade from one band's to the next over an octave, so that no size stands on a step.
double offset_at(const SiteModel& model, double octave) {
  double sum = 0;
  for (const double shift : {-0.5, 0.5})
    sum += model.offset[band_of(static_cast<std::int64_t>(std::exp2(std::max(0.0, octave + shift))))];
  return sum / 2;
}

/// Of offsets.
Eigen::MatrixXd covariance(const SiteModel& model, std::span<const std::int64_t> sizes) {
  const auto n = static_cast<Eigen::Index>(sizes.size());
  Eigen::VectorXd octave(n), offset(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    octave[i] = std::log2(static_cast<double>(std::max<std::int64_t>(1, sizes[static_cast<std::size_t>(i)])));
    offset[i] = offset_at(model, octave[i]);
  }
  Eigen::MatrixXd k(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) {
      const double apart = (octave[i] - octave[j]) / model.octaves;
      k(i, j) = offset[i] * offset[j] * std::exp(-apart * apart / 2);
    }
  return k;
}

}  // namespace

double log_density(const SiteModel& model, std::span<const std::int64_t> sizes, std::span<const double> log_ratios,
                   double common) {
  const auto n = static_cast<Eigen::Index>(sizes.size());
  const Eigen::MatrixXd offsets = covariance(model, sizes) + Eigen::MatrixXd::Constant(n, n, common * common);
  const Eigen::Map<const Eigen::VectorXd> r(log_ratios.data(), n);
  const double nu = model.tail, variance = model.row * model.row;
  // Each row's variance is unknown around the usual one, which makes its scatter Student's t: the likeliest variances
  // stand for all of them.
  Eigen::VectorXd precision = Eigen::VectorXd::Ones(n);
  Eigen::LLT<Eigen::MatrixXd> k;
  for (int pass = 0; pass < reweightings; ++pass) {
    Eigen::MatrixXd sum = offsets;
    sum.diagonal() += variance * precision.cwiseInverse();
    k.compute(sum);
    const Eigen::VectorXd scatter = r - offsets * k.solve(r);
    if (pass + 1 < reweightings) precision = (nu + 1) / (nu + scatter.array().square() / variance);
  }
  double log_root = 0;
  for (Eigen::Index i = 0; i < n; ++i) log_root += std::log(k.matrixLLT()(i, i));
  const double normal =
      -k.matrixL().solve(r).squaredNorm() / 2 - log_root - static_cast<double>(n) / 2 * std::log(2 * M_PI);
  return normal + (nu / 2 * precision.array().log() - nu / 2 * (precision.array() - 1)).sum();
}

double spread_at(const SiteModel& model, std::int64_t bytes) {
  return std::hypot(offset_at(model, std::log2(static_cast<double>(std::max<std::int64_t>(1, bytes)))), model.row);
}

}  // namespace fabricast
