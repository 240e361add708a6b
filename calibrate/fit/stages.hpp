// The stages of a fit: selecting parameters, fitting, and the uncertainty of the result.
#pragma once

#include "fabricast/calibrate/fit.hpp"
#include "solve.hpp"

namespace fabricast {

/// Weights, and the parameters that the options select and some row of positive weight depends on.
FitTask task_of(const FitProblem& problem, const FitOptions& options);
/// The free parameters that the data alone determine to within the factor, with a probability of 90 %.
std::vector<std::size_t> identified(const FitTask& task, const std::vector<double>& errors, double factor);

/// A fit of all free parameters, then one of the identified ones if `options.identified` is set.
struct TwoFits {
  FitTask task;                 ///< of the last fit
  FitPoint start, first, last;  ///< start: all parameters at their priors; last: `first` if there is no second fit
  Linearization derivatives, first_derivatives;
};

/// \throws UserError if no parameter can be fitted
TwoFits fit_twice(const FitProblem& problem, const FitOptions& options);

/// The fitted parameters with their intervals from the bootstrap, and the hardware with them. Losses are not set.
Fit fit_at(const FitProblem& problem, const FitTask& task, const FitPoint& point, const Linearization& derivatives,
           std::uint64_t seed);

}  // namespace fabricast
