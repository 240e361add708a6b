// Information of rows about parameters, and effects of parameters on rows, linear around a fit.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "solve.hpp"

namespace fabricast {

/// Rows of cases, linearized around the hardware's parameters, for the parameters that the options select.
struct LinearRows {
  FitProblem problem;
  Eigen::VectorXd weights, residuals;
  Eigen::MatrixXd jacobian;

  LinearRows(const std::vector<MeasuredCase>& cases, const Hardware& hardware, const FitOptions& options);
  /// Derivatives with respect to these parameters; zero for those that no row depends on.
  Eigen::MatrixXd columns(const std::vector<std::string>& paths) const;
};

/// Root mean square of the residuals, with outliers shrunk as by the loss; at least 0.03, however good the fit.
double noise_of(const LinearRows& data, double scale);

/// Information matrices [run][band]. A run counts as one independent measurement in each band, because errors of
/// neighbouring sizes are correlated.
using Information = std::map<std::size_t, std::map<std::size_t, Eigen::MatrixXd>>;
/// \param columns  derivatives [row][parameter]
/// \param noise    standard deviation of a row
/// \param scale    of the loss, which gives outliers less weight
Information information_of(const LinearRows& linear, const Eigen::MatrixXd& columns,
                           const std::vector<std::size_t>& rows, double noise, double scale);
/// The sum over bands; zero if there are none.
Eigen::MatrixXd sum_of(const std::map<std::size_t, Eigen::MatrixXd>& by_band, Eigen::Index size);

/// Effects of parameters on forecasts: root mean square of the derivatives over the rows of a system, number of nodes
/// and band.
class Effects {
 public:
  void add(const LinearRows& linear, const Eigen::MatrixXd& columns, std::size_t row);
  /// The largest effect of each parameter over all of these groups.
  Eigen::VectorXd largest(Eigen::Index size) const;

 private:
  std::map<std::tuple<std::string, int, std::size_t>, std::pair<Eigen::VectorXd, double>> sums_;
};

}  // namespace fabricast
