// The matrix S of residual.hpp.
//
// S_ij = shared_variance(i, j) + [i = j] own_variance(i). The two are separate because a row that is forecast shares
// only the first with measured rows.
#pragma once

#include <Eigen/Dense>

#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// A row with the terms of S that do not depend on other rows, computed once per row instead of once per pair.
struct PlacedRow {
  const ResidualRow* row;       ///< into the span that `placed_rows` was given
  double octave;                ///< o_i
  double node_octave;           ///< log2 of its nodes
  double factor;                ///< g_i
  double host;                  ///< h / t_i
  PerGroup<double> directions;  ///< s_ik d_ik
};
std::vector<PlacedRow> placed_rows(const ResidualModel& model, std::span<const ResidualRow> rows);

/// S_ij without the scatter of single rows.
double shared_variance(const ResidualModel& model, const PlacedRow& a, const PlacedRow& b);
/// The scatter of a single row: (g_i r)^2.
double own_variance(const ResidualModel& model, const PlacedRow& row);
/// S.
Eigen::MatrixXd covariance(const ResidualModel& model, const std::vector<PlacedRow>& rows);

}  // namespace fabricast
