// The contribution of each model term to the accuracy on sites that a fit has not seen: errors with the term and
// without it.
//
// A term is removed by giving its parameters the value at which they have no effect: a time of zero, a factor of one.
// All other parameters are then fitted again, so a term whose role others can take over contributes nothing. Sites are
// left out in fifths, because leaving them out one by one would take a day for all terms. The data are those that
// parameters are fitted to; they do not show what a term contributes elsewhere.
//
// study_terms uses all cores and takes about an hour with the shipped cases; its result is deterministic.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// A term of the models of collectives.
struct ModelTerm {
  std::string_view name;
  std::string_view what;
  /// Patterns of parameter paths with the value without the term. A star stands for any set of a section, as in
  /// `networks.*.message`.
  std::vector<std::pair<std::string_view, double>> absent;
  bool pooling = false;  ///< the term is the pull towards siblings (FitOptions::sibling_weight)
};
/// All terms.
const std::vector<ModelTerm>& model_terms();
/// Removes a term: fixes its parameters at the value without it. \returns the number of parameters that changed
int take_away(Hardware& hardware, const ModelTerm& term);

/// The contribution of one term, on sites that were left out.
struct TermWorth {
  const ModelTerm* term = nullptr;
  int parameters = 0;  ///< number of parameters that it removes
  /// By band: growth without the term of the mean over systems of their errors, each counted as at most 1 (100 %).
  /// Means are more informative here, because a median jumps from one system to the next.
  BandValues gain{};
  std::array<std::optional<MedianInterval>, bands.size()> interval{};  ///< 90 % intervals of `gain`
};

/// What all terms are worth.
struct TermStudy {
  BandValues median{};  ///< median error over systems with all terms
  std::vector<TermWorth> terms;
};

/// Evaluates all terms.
/// \param progress  called with the fraction that is done; may be empty
/// \throws as leave_out
TermStudy study_terms(const std::vector<MeasuredCase>& cases, const Hardware& prior, const FitOptions& options,
                      const std::function<void(double share)>& progress = {});
/// A table as text for people.
std::string terms_text(const TermStudy& study);
/// The page docs/validation-terms.md.
std::string terms_markdown(const TermStudy& study);

}  // namespace fabricast
