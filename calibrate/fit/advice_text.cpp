// Advice of `calibrate fit --advise` as text.
//
// Errors inside FitAdvice are standard deviations of logarithms. The text shows 90 % intervals as factors, as the
// column `factor` of forecasts does, so that both can be compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/calibrate/advice.hpp"
#include "solve.hpp"

namespace fabricast {

namespace {

/// Half the width of the 90 % interval, as a factor.
double factor(double error) { return std::exp(quantile_95 * error); }
/// The same in percent.
double percent(double error) { return 100 * (factor(error) - 1); }

std::string line_of(const Uncertain& p) {
  return fmt::format("    {:<44} factor {:<7.3g} forecasts {:.2g} %\n", p.path, factor(p.error), percent(p.effect));
}

std::string together_text(const Unstated& u) {
  std::string out;
  for (const Uncertain& p : u.parameters) out += line_of(p);
  std::string powers;
  for (const double power : u.powers) powers += fmt::format("{}{:.2f}", powers.empty() ? "" : ", ", power);
  return out + fmt::format("      {:<42} factor {:.3g}\n", "product, powers " + powers, factor(u.error_together));
}

}  // namespace

std::string advice_text(const FitAdvice& advice) {
  // The three groups differ in what helps: a combination needs a run that separates its parameters, a parameter that is
  // determined too little needs more rows of the same kind, and one that is not determined at all needs a run of a new
  // kind.
  std::string nothing, little, together;
  for (const Unstated& u : advice.unstated) {
    if (u.stated == Stated::nothing) nothing += line_of(u.parameters.front());
    if (u.stated == Stated::little) little += line_of(u.parameters.front());
    if (u.stated == Stated::together) together += together_text(u);
  }
  if (advice.unstated.empty()) return "the data determine all parameters that matter to forecasts of these systems\n";
  std::string out = "parameters that the data do not determine (90 % intervals, and their effect on forecasts)\n";
  if (!together.empty()) out += "  determined only together:\n" + together;
  if (!little.empty()) out += "  determined too little:\n" + little;
  if (!nothing.empty()) out += "  not determined at all:\n" + nothing;
  if (advice.runs.empty()) return out + "no run of nccl-tests on these systems would determine much more\n";
  // The order matters: each run is chosen given the runs before it, so its gain holds only if those are made.
  out += "runs that would determine them, in this order\n";
  for (const AdvisedRun& run : advice.runs) {
    out += fmt::format("  {}: {}\n", run.run.system, run.command);
    for (const Narrowed& n : run.narrows)
      out += fmt::format("    {:<44} factor {:.3g} -> {:.3g}\n", n.path, factor(n.before), factor(n.after));
  }
  return out;
}

}  // namespace fabricast
