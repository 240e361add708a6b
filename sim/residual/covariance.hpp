// S of residual.hpp.
#pragma once

#include <Eigen/Dense>

#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// A row with what does not depend on the others.
struct PlacedRow {
  const ResidualRow* row;
  double octave, node_octave, factor, host;
  PerGroup<double> directions;  ///< s_ik d_ik
};
std::vector<PlacedRow> placed_rows(const ResidualModel& model, std::span<const ResidualRow> rows);

/// S_ij without what a row has for itself.
double shared_variance(const ResidualModel& model, const PlacedRow& a, const PlacedRow& b);
/// What it has for itself.
double own_variance(const ResidualModel& model, const PlacedRow& row);
Eigen::MatrixXd covariance(const ResidualModel& model, const std::vector<PlacedRow>& rows);

}  // namespace fabricast
