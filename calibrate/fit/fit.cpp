// The fit of hardware parameters to measured collectives, from its stages (stages.hpp). fit.hpp states what is
// minimized, docs/models/fit.md explains why.
#include "fabricast/calibrate/fit.hpp"

#include <algorithm>

#include "stages.hpp"

namespace fabricast {

bool FitOptions::takes(const std::string& path) const {
  // A prefix must end where a name ends. Otherwise a group would also select groups whose names begin like its own.
  return parameters.empty() || std::any_of(parameters.begin(), parameters.end(),
                                           [&](const auto& p) { return path == p || path.starts_with(p + "."); });
}

Fit fit_parameters(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options) {
  const FitProblem problem(cases, start);
  const TwoFits f = fit_twice(problem, options);
  Fit fit = fit_at(problem, f.task, f.last, f.derivatives, options.seed);
  fit.loss_before = f.start.loss;
  fit.loss_after = f.last.loss;
  return fit;
}

}  // namespace fabricast
