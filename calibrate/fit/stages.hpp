// The stages of a fit: which parameters take part, the fit, and how far it could have come out elsewhere.
#pragma once

#include "fabricast/calibrate/fit.hpp"
#include "solve.hpp"

namespace fabricast {

FitTask task_of(const FitProblem& problem, const FitOptions& options);
/// The free parameters that the data alone tell to within the factor.
std::vector<std::size_t> identified(const FitTask& task, const std::vector<double>& errors, double factor);

/// A fit of all free parameters, then of the identified ones.
struct TwoFits {
  FitTask task;  ///< the second one, or the first if nothing is held
  FitPoint start, first, last;  ///< start: all at their priors
  Linearization derivatives, first_derivatives;
};

TwoFits fit_twice(const FitProblem& problem, const FitOptions& options);

/// The fitted parameters with their intervals, and hardware that has them; without losses.
Fit fit_at(const FitProblem& problem, const FitTask& task, const FitPoint& point, const Linearization& derivatives,
           std::uint64_t seed);

}  // namespace fabricast
