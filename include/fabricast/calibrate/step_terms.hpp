// What each term of a step explains of measured steps: the term is taken away, all else stays as it is fitted, and errors
// are counted again.
//
// A term that explains nothing of any row can go. One that explains much is worth measuring. Nothing is fitted anew: what
// others would make up for is in the difference, too. A term is a parameter of all GPUs and software at once, set to what
// makes it nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

struct StepTerm {
  std::string_view name;
  std::vector<std::string_view> parameters;  ///< last words of their paths
  double nothing = 0;                        ///< the value without the term
};
std::vector<StepTerm> step_terms();

struct StepsWithout {
  std::string term;           ///< empty: with all of them
  std::vector<StepRow> rows;  ///< without intervals, in the order of the steps
};
/// With all terms first, then without each. Kernels are left out. Uses all cores. \throws Interrupted on Ctrl-C
std::vector<StepsWithout> steps_without_terms(const std::vector<StepCase>& steps, const Hardware& hardware,
                                              const std::function<void(double)>& progress = {});

/// The page for the docs: means over sources, and the sources that a term explains most of.
std::string terms_markdown(const std::vector<StepsWithout>& all);

}  // namespace fabricast
