// How far the fit could have come out elsewhere: a parametric bootstrap.
//
// Each replicate draws errors of the rows as the residuals are found to be, and centres of the priors from their
// intervals, and takes what the fit, linear around its optimum, makes of them. Errors of rows are not independent: a
// model that is off at one size is off at the next. So they are drawn with the spread of their size band, alike
// within a system as far as the residuals of its cases are alike, and along the sizes of a case with the correlation
// that neighbours have (an autoregression of first order).
#pragma once

#include <cstdint>

#include "solve.hpp"

namespace fabricast {

/// Found in the residuals.
struct ErrorModel {
  std::array<double, bands.size()> spread{};  ///< standard deviation of ln(forecast / measured) in each band
  std::array<double, bands.size()> tails{};   ///< the 90 % quantile of its absolute value, as of a normal distribution
  double alike = 0;                           ///< share of the variance that cases of a system have in common in a band
  double neighbours = 0;                      ///< correlation of neighbouring sizes of a case in what is left
};
/// \param parameters_used  how many parameters the data have determined, as a trace of the hat matrix
ErrorModel error_model(const FitProblem& problem, const FitTask& task, const FitPoint& point, double parameters_used);

struct Bootstrap {
  ErrorModel errors;
  Eigen::MatrixXd moved;  ///< ln(parameter / fitted) [replicate][free parameter]
};
Bootstrap bootstrap(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                    const Linearization& derivatives, int replicates, std::uint64_t seed);

}  // namespace fabricast
