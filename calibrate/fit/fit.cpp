#include "fabricast/calibrate/fit.hpp"

#include "stages.hpp"

namespace fabricast {

Fit fit_parameters(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options) {
  const FitProblem problem(cases, start);
  const TwoFits f = fit_twice(problem, options);
  return fit_at(problem, f.task, f.last, f.derivatives, options.seed);
}

}  // namespace fabricast
