// Uncertainty of a fit by a parametric bootstrap.
//
// Each replicate samples errors of the rows from a model of the residuals, and centres of the priors from their
// intervals. The fit is linearized around its optimum, so a replicate is one matrix product. Errors of rows are not
// independent: a model that is wrong at one size is wrong at the next. They are therefore sampled with the spread of
// their size band, a correlation between cases of a system, and a first-order autoregression along the sizes of a case.
//
// Deterministic for a seed. Pure functions.
#pragma once

#include <cstdint>

#include "solve.hpp"

namespace fabricast {

/// A model of the residuals.
struct ErrorModel {
  std::array<double, bands.size()> spread{};  ///< standard deviation of ln(forecast / measured) in each band
  std::array<double, bands.size()> tails{};   ///< the 90 % quantile of its absolute value, divided by 1.645
  double alike = 0;                           ///< fraction of the variance that cases of a system share in a band
  double neighbours = 0;                      ///< correlation of neighbouring sizes of a case in the rest
};
/// Estimates the model from the residuals at `point`.
/// \param parameters_used  number of parameters that the data have determined: the trace of the hat matrix
ErrorModel error_model(const FitProblem& problem, const FitTask& task, const FitPoint& point, double parameters_used);

/// Results of all replicates.
struct Bootstrap {
  ErrorModel errors;
  Eigen::MatrixXd moved;  ///< ln(parameter / fitted) [replicate][free parameter]
};
/// \param derivatives  at `point`
Bootstrap bootstrap(const FitProblem& problem, const FitTask& task, const FitPoint& point,
                    const Linearization& derivatives, int replicates, std::uint64_t seed);

}  // namespace fabricast
