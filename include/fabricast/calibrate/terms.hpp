// What each term of the models is worth: errors on sites that a fit has not seen, with the term and without it.
//
// A term is taken away by giving its parameters the value at which they change nothing: a time of zero, a factor of one.
// All others are fitted anew, so that a term whose work others can do is worth nothing. Sites are left out in fifths, as
// one by one would take a day for all terms. The data are those by which parameters are fitted: what a term is worth
// elsewhere, this can not tell.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

struct ModelTerm {
  std::string_view name;
  std::string_view what;
  /// Parameters, where a star stands for any set of a section (`networks.*.message`), and their value without the term.
  std::vector<std::pair<std::string_view, double>> absent;
  bool pooling = false;  ///< the pull towards siblings (FitOptions::sibling_weight)
};
const std::vector<ModelTerm>& model_terms();
/// \return how many parameters it has taken away
int take_away(Hardware& hardware, const ModelTerm& term);

/// Errors on sites left out.
struct TermWorth {
  const ModelTerm* term;
  int parameters = 0;
  /// [band]: by how much the mean over systems of their errors, each counted as at most 100 %, is larger without it; its
  /// 90 % interval by a bootstrap over systems. A median over systems jumps from one to the next; a mean tells more.
  BandValues gain{};
  std::array<std::optional<MedianInterval>, bands.size()> interval{};
};

struct TermStudy {
  BandValues median{};  ///< of errors over systems, with all terms
  std::vector<TermWorth> terms;
};

/// \param progress  told which share is done
TermStudy study_terms(const std::vector<MeasuredCase>& cases, const Hardware& prior, const FitOptions& options,
                      const std::function<void(double share)>& progress = {});
std::string terms_text(const TermStudy& study);
std::string terms_markdown(const TermStudy& study);

}  // namespace fabricast
