#include <fmt/format.h>

#include "fabricast/calibrate/terms.hpp"

namespace fabricast {

namespace {

/// `+3.1 (1.0 to 5.2)`, in points of percent.
std::string gain_text(const TermWorth& worth, std::size_t band) {
  const std::string interval = percent_text(worth.interval[band]);
  return fmt::format("{:+.1f}{}", 100 * worth.gain[band], interval.empty() ? "" : " (" + interval + ")");
}

/// Beyond what other systems would change, in some band.
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

std::string_view verdict(const TermWorth& worth) {
  if (helps(worth)) return harms(worth) ? "helps and harms" : "helps";
  return harms(worth) ? "harms" : "not told";
}

}  // namespace

std::string terms_text(const TermStudy& study) {
  std::string out = fmt::format("{:<26}", "without");
  for (const Band& b : bands) out += fmt::format("{:>24}", b.name);
  out += "   what left-out errors gain by the term: mean over systems in %, 90 % interval\n";
  for (const TermWorth& worth : study.terms) {
    out += fmt::format("{:<26}", worth.term->name);
    for (std::size_t b = 0; b < bands.size(); ++b) out += fmt::format("{:>24}", gain_text(worth, b));
    out += fmt::format("   {}\n", verdict(worth));
  }
  return out;
}

std::string terms_markdown(const TermStudy& study) {
  std::string out =
      "# What each term is worth\n\n"
      "Written by `fabricast calibrate validate --terms --markdown docs/validation-terms.md`; anyone can run it "
      "again.\n\n"
      "A term is taken away by giving its parameters the value at which they change nothing. All others are then "
      "fitted "
      "anew, with a\nfifth of the sites left out in turn, and these are forecast. The table says by how much the mean "
      "over systems of their errors\n(in %, each counted as at most 100) grows without the term, with its 90 % "
      "interval by a "
      "bootstrap over systems. `helps`: in some band\nthe interval lies above zero; `not told`: in none, so that by "
      "these "
      "data the term could go. It stays where it is physics that\nanother source shows; no claim rests on it.\n\n"
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
