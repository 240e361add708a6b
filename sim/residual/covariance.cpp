// The matrix S of the distribution of errors (residual/residual.hpp has the equation and its symbols).
//
// Each term is positive semidefinite by itself: products of one vector with itself, exponentials of distances, and
// indicators of equal properties. Their sum with the scatter on the diagonal is therefore positive definite, as the
// Cholesky factorization needs.
#include "covariance.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

namespace {

// The contributions of kind and family are constant up to 2^18 B and from 2^27 B on: below, latency decides, above,
// bandwidth.
constexpr double small_octave = 18, large_octave = 27;

double octave_of(std::int64_t bytes) { return std::log2(static_cast<double>(std::max<std::int64_t>(1, bytes))); }

double large_share(double octave) {
  return std::clamp((octave - small_octave) / (large_octave - small_octave), 0.0, 1.0);
}

// Weights of the two knots around an octave; they sum to 1.
std::array<double, 5> knot_shares(double octave) {
  constexpr auto& at = ResidualScale::octaves;
  std::array<double, 5> shares{};
  const double inside = std::clamp(octave, at.front(), at.back());
  std::size_t k = 1;
  while (k + 1 < at.size() && inside > at[k]) ++k;
  shares[k] = (inside - at[k - 1]) / (at[k] - at[k - 1]);
  shares[k - 1] = 1 - shares[k];
  return shares;
}

/// n_ij of residual.hpp. One node has no network, so its rows say less about those of several nodes.
double nodes_alike(const ResidualModel& model, const PlacedRow& a, const PlacedRow& b) {
  const double near = std::exp(-std::abs(a.node_octave - b.node_octave) / model.node_octaves);
  return (a.row->nodes > 1) == (b.row->nodes > 1) ? near : near / 2;
}

// u_i . u_j: only the same alternative value of the same input affects both rows in common.
double unstated(const ResidualRow& a, const ResidualRow& b) {
  double sum = 0;
  for (const auto& [name, effect] : a.unstated)
    if (const auto other = b.unstated.find(name); other != b.unstated.end()) sum += effect * other->second;
  return sum;
}

}  // namespace

double log_scale(const ResidualScale& scale, const ResidualRow& row) {
  const double octave = octave_of(row.bytes), large = large_share(octave);
  const auto shares = knot_shares(octave);
  double sum = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) sum += shares[k] * scale.knots[k];
  const auto& kind = scale.kinds[static_cast<std::size_t>(row.kind)];
  const auto& family = scale.families[static_cast<std::size_t>(residual_family(row.op))];
  return sum + std::lerp(kind[0] + family[0], kind[1] + family[1], large);
}

std::vector<PlacedRow> placed_rows(const ResidualModel& model, std::span<const ResidualRow> rows) {
  std::vector<PlacedRow> list;
  for (const ResidualRow& row : rows) {
    PlacedRow placed{&row,
                     octave_of(row.bytes),
                     std::log2(static_cast<double>(row.nodes)),
                     std::exp(log_scale(model.scale, row)),
                     model.host.value / row.forecast.value,
                     {}};
    // s_ik d_ik. Sites differ in the group, and its parameters are known within an interval: both in squares.
    for (std::size_t k = 0; k < placed.directions.size(); ++k)
      placed.directions[k] = row.effects[k] * std::hypot(model.groups[k], row.own[k]);
    list.push_back(placed);
  }
  return list;
}

double shared_variance(const ResidualModel& model, const PlacedRow& a, const PlacedRow& b) {
  double sum = a.host * b.host + unstated(*a.row, *b.row);
  for (std::size_t k = 0; k < a.directions.size(); ++k) sum += a.directions[k] * b.directions[k];
  const bool plan = a.row->algorithm == b.row->algorithm && a.row->protocol == b.row->protocol;
  const bool series = a.row->series == b.row->series;
  // The weights add to 1 for rows that share everything, so that a^2 is the variance of a single row.
  const double alike =
      1 + (plan ? model.plan : 0) + model.nodes * nodes_alike(model, a, b) + (series ? model.series : 0);
  const double all = 1 + model.plan + model.nodes + model.series;
  sum += model.curve * model.curve * std::exp(-std::abs(a.octave - b.octave) / model.octaves) * alike / all;
  return a.factor * b.factor * sum;
}

double own_variance(const ResidualModel& model, const PlacedRow& row) { return std::pow(row.factor * model.row, 2); }

Eigen::MatrixXd covariance(const ResidualModel& model, const std::vector<PlacedRow>& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixXd s(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const PlacedRow& a = rows[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j <= i; ++j)
      s(i, j) = s(j, i) = shared_variance(model, a, rows[static_cast<std::size_t>(j)]);
    s(i, i) += own_variance(model, a);
  }
  return s;
}

}  // namespace fabricast
