// What rows around a fit tell of parameters, and what parameters do to them.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "solve.hpp"

namespace fabricast {

/// Rows of cases, as linear around the hardware's parameters that a fit with these options moves.
struct LinearRows {
  FitProblem problem;
  Eigen::VectorXd weights, residuals;
  Eigen::MatrixXd jacobian;

  LinearRows(const std::vector<MeasuredCase>& cases, const Hardware& hardware, const FitOptions& options);
  /// Derivatives by these parameters, zero for those that no row depends on.
  Eigen::MatrixXd columns(const std::vector<std::string>& paths) const;
};

/// Spread of measured rows, as the loss sees it; at least 3 %, however well they are fitted.
double noise_of(const LinearRows& data, double scale);

/// Information of each run in each band, as one independent measurement: sizes nearby err together.
using Tellings = std::map<std::size_t, std::map<std::size_t, Eigen::MatrixXd>>;
/// \param scale  of the loss, by which outliers tell less
Tellings tellings_of(const LinearRows& linear, const Eigen::MatrixXd& columns, const std::vector<std::size_t>& rows,
                     double noise, double scale);
Eigen::MatrixXd sum_of(const std::map<std::size_t, Eigen::MatrixXd>& by_band, Eigen::Index size);

/// What parameters do to forecasts: root of the mean square over the rows of a system, a number of nodes and a band.
class Effects {
 public:
  void add(const LinearRows& linear, const Eigen::MatrixXd& columns, std::size_t row);
  /// Of each where it is largest.
  Eigen::VectorXd largest(Eigen::Index size) const;

 private:
  std::map<std::tuple<std::string, int, std::size_t>, std::pair<Eigen::VectorXd, double>> sums_;
};

}  // namespace fabricast
