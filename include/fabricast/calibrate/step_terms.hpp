// The contribution of each term of the step model to the agreement with measured steps. A term is removed, all other
// parameters keep their values, and the errors are computed again.
//
// A term whose removal changes no error can be dropped; a term that explains much is worth measuring. Parameters are
// not fitted again, so the difference includes what a new fit of other parameters would compensate for. A term is
// removed for all GPUs and software generations at once, by setting its parameters to the value at which it has no
// effect, or, if it has none, by turning off what it is the cost of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

/// A term of the step model.
struct StepTerm {
  std::string_view name;
  std::vector<std::string_view> parameters;  ///< last components of the paths of its parameters
  double nothing = 0;                        ///< the value at which they have no effect
  bool Stack::*feature = nullptr;            ///< of a term without parameters: what stacks do not do without it
};
/// All terms.
std::vector<StepTerm> step_terms();

/// Forecasts of all steps without one term.
struct StepsWithout {
  std::string term;           ///< empty: nothing was removed
  std::vector<StepRow> rows;  ///< without intervals, in the order of the steps
};
/// Forecasts the steps with all terms, then without each of them. Kernels are ignored. Uses all cores; the result does
/// not depend on the number of threads.
/// \throws UserError if a scenario is refused; Interrupted on Ctrl-C
std::vector<StepsWithout> steps_without_terms(const std::vector<StepCase>& steps, const Hardware& hardware,
                                              const std::function<void(double)>& progress = {});

/// The page docs/validation-step-terms.md: means over sources, and the sources whose errors grow most without a term.
std::string terms_markdown(const std::vector<StepsWithout>& all);

}  // namespace fabricast
