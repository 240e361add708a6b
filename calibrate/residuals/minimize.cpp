// L-BFGS by NLopt with forward differences. Each gradient needs one evaluation of f per variable; these run in parallel
// and are written to places of their own, so the result does not depend on the number of threads.
#include "minimize.hpp"

#include <nlopt.hpp>

#include "fabricast/core/parallel.hpp"

namespace fabricast {

namespace {

/// Difference for derivatives; variables are logarithms, of order 1.
constexpr double step = 1e-4;

struct Problem {
  const std::function<double(const std::vector<double>&)>& f;

  double at(const std::vector<double>& x, std::vector<double>& gradient) const {
    std::vector<double> values(x.size() + 1);
    in_parallel(values.size(), thread_count(0), [&](std::size_t i) {
      std::vector<double> moved = x;
      if (i < x.size()) moved[i] += step;
      values[i] = f(moved);
    });
    // The last value is that of x itself. NLopt passes an empty gradient if it needs the value alone.
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = (values[i] - values.back()) / step;
    return values.back();
  }
};

}  // namespace

std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             int evaluations) {
  Problem problem{f};
  nlopt::opt solver(nlopt::LD_LBFGS, static_cast<unsigned>(start.size()));
  solver.set_min_objective([](const std::vector<double>& x, std::vector<double>& gradient,
                              void* data) { return static_cast<Problem*>(data)->at(x, gradient); },
                           &problem);
  solver.set_maxeval(evaluations);
  constexpr double enough = 1e-5;
  solver.set_ftol_rel(enough);
  double value = 0;
  try {
    solver.optimize(start, value);
  } catch (const nlopt::roundoff_limited&) {
    // The minimum is as close as differences can resolve.
  } catch (const std::runtime_error&) {
    // The line search found no lower point, so this is the minimum to within the error of the differences.
  }
  return start;
}

}  // namespace fabricast
