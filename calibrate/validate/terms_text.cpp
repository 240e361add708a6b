// The study of terms as text and as docs/validation-terms.md. A verdict is given only if the 90 % interval over systems
// excludes zero in some size band.
#include <fmt/format.h>

#include "fabricast/calibrate/terms.hpp"

namespace fabricast {

namespace {

/// A gain in percentage points with its interval: `+3.1 (1.0 to 5.2)`.
std::string gain_text(const TermWorth& worth, std::size_t band) {
  const std::string interval = percent_text(worth.interval[band]);
  return fmt::format("{:+.1f}{}", 100 * worth.gain[band], interval.empty() ? "" : " (" + interval + ")");
}

/// Whether the interval excludes zero in some band, so that other systems would not change the sign.
bool helps(const TermWorth& worth) {
  for (const auto& interval : worth.interval)
    if (interval && interval->low > 0) return true;
  return false;
}
bool harms(const TermWorth& worth) {
  for (const auto& interval : worth.interval)
    if (interval && interval->high < 0) return true;
  return false;
}

// A term may help at small sizes and harm at large ones, because other parameters are fitted with it.
std::string_view verdict(const TermWorth& worth) {
  if (helps(worth)) return harms(worth) ? "helps and harms" : "helps";
  return harms(worth) ? "harms" : "undecided";
}

}  // namespace

std::string terms_text(const TermStudy& study) {
  std::string out = fmt::format("{:<26}", "without");
  for (const Band& b : bands) out += fmt::format("{:>24}", b.name);
  out += "   growth of left-out errors without the term: mean over systems in %, 90 % interval\n";
  for (const TermWorth& worth : study.terms) {
    out += fmt::format("{:<26}", worth.term->name);
    for (std::size_t b = 0; b < bands.size(); ++b) out += fmt::format("{:>24}", gain_text(worth, b));
    out += fmt::format("   {}\n", verdict(worth));
  }
  return out;
}

std::string terms_markdown(const TermStudy& study) {
  std::string out =
      "# What each model term contributes\n\n"
      "Written by `fabricast calibrate validate --terms --markdown docs/validation-terms.md`; you can run it "
      "again.\n\n"
      "A term is removed by giving its parameters the value at which they have no effect. All other parameters are "
      "then fitted again,\nwith a fifth of the sites left out in turn, and these sites are forecast. The table shows "
      "by how much the mean over systems of\ntheir errors (in %, each counted as at most 100) grows without the "
      "term, with its 90 % interval by a bootstrap over systems.\n\n"
      "- `helps`: the interval is above zero in some band\n"
      "- `harms`: the interval is below zero in some band\n"
      "- `undecided`: neither. By these data, the term could be removed. It stays if it is physics that another source "
      "shows, but no\n  claim rests on it.\n\n"
      "| term | what it is | parameters |";
  for (const Band& b : bands) out += fmt::format(" {} |", b.name);
  out += " |\n|---|---|---|---|---|---|---|---|\n";
  for (const TermWorth& worth : study.terms) {
    out += fmt::format("| {} | {} | {} |", worth.term->name, worth.term->what, worth.parameters);
    for (std::size_t b = 0; b < bands.size(); ++b) out += fmt::format(" {} |", gain_text(worth, b));
    out += fmt::format(" {} |\n", verdict(worth));
  }
  out += "| **all terms: median over systems** | | |";
  for (const double m : study.median) out += fmt::format(" **{:.1f}** |", 100 * m);
  return out + " |\n";
}

}  // namespace fabricast
