#include <fmt/format.h>

#include "fabricast/calibrate/steps.hpp"

namespace fabricast {

namespace {

std::string summary_text(const std::string& title, const std::vector<StepSummary>& list) {
  std::string out =
      fmt::format("\n{}\n                         source  rows   mean %  worst %   bias %  in interval\n", title);
  for (const StepSummary& s : list)
    out += fmt::format("{:>31} {:>5} {:>8.2f} {:>8.1f} {:>8.1f} {:>12}\n", s.source, s.rows, 100 * s.mean,
                       100 * s.worst, 100 * s.bias, s.within);
  return out;
}

std::string summary_markdown(const std::vector<StepSummary>& list) {
  std::string out = "| source | rows | mean % | worst % | bias % | in interval |\n|---|---:|---:|---:|---:|---:|\n";
  for (const StepSummary& s : list)
    out += fmt::format("| {} | {} | {:.2f} | {:+.1f} | {:+.1f} | {} |\n", s.source, s.rows, 100 * s.mean, 100 * s.worst,
                       100 * s.bias, s.within);
  return out;
}

/// Dense models and mixtures of experts, where there are any.
std::vector<StepSummary> kinds_of(const std::vector<StepRow>& rows) {
  std::vector<StepSummary> kinds;
  for (const bool experts : {false, true}) {
    kinds.push_back(mean_over_sources(rows, experts));
    kinds.back().source = experts ? "MoE" : "dense";
    if (kinds.back().rows == 0) kinds.pop_back();
  }
  return kinds;
}

std::string what_was_left_out(LeftOutSteps by) {
  switch (by) {
    case LeftOutSteps::software:
      return "Fitted without any step of the same software generation: its own parameters are at their priors.";
    case LeftOutSteps::source: return "Fitted without any row of the same source.";
    case LeftOutSteps::family:
      return "Fitted without any row of a source of the same family: releases of one table repeat each other's rows, "
             "so all\nwhose names begin alike are left out together.";
  }
  return {};
}

/// In the order in which they were asked for.
std::vector<LeftOutSteps> kinds_left_out(const StepValidation& v) {
  std::vector<LeftOutSteps> kinds;
  for (const LeftOutFit& f : v.left_out)
    if (kinds.empty() || kinds.back() != f.by) kinds.push_back(f.by);
  return kinds;
}

/// What rows that no fit has seen ask for, dense models and MoE.
std::string spreads_text(const std::vector<StepRow>& left_out, const char* form) {
  std::string out;
  for (const FittedParameter& p : learned_step_spread(left_out, prior_hardware()))
    out += fmt::format(fmt::runtime(form), p.path, p.after.value, p.after.low, p.after.high);
  return out;
}

std::string asked_for(const StepValidation& v) {
  std::string out;
  for (const LeftOutSteps by : kinds_left_out(v)) out += fmt::format(" --leave-out {}", name_of(by));
  return out;
}

std::string left_out_markdown(const StepValidation& v) {
  std::string out;
  for (const LeftOutSteps by : kinds_left_out(v)) {
    const std::vector<StepRow> rows = rows_left_out(v.left_out, by);
    out += fmt::format("\n## Left out by {}\n\n{}\n", name_of(by), what_was_left_out(by));
    if (by == kinds_left_out(v).front())
      out +=
          "Each fit begins at the priors. Intervals are as wide as the errors of the other groups, each left out, ask "
          "for.\n"
          "At most eight rows of each source and kind of model are fitted and forecast. The priors of some parameters "
          "came from a study of the\nrows of `calibrate/data/steps.json` [steptime-study], so for these it flatters.\n";
    out += fmt::format("\nEach source counts once:\n\n{}\n{}", summary_markdown(kinds_of(rows)),
                       summary_markdown(summarize(rows)));
    out += spreads_text(rows, "\nSpread that these errors ask for, `{}`: {:.3g} ({:.2g} to {:.2g}).\n");
  }
  return out;
}

}  // namespace

std::string steps_text(const StepValidation& v) {
  std::string out = "                           step   measured s   forecast s    x/:   error %\n";
  for (const StepRow& row : v.rows)
    out += fmt::format("{:>31} {:>12.5g} {:>12.5g} {:>6.2f} {:>9.1f}{}\n", row.id, row.measured, row.forecast,
                       row.factor, 100 * row.error(), row.held_out ? "  held out" : "");
  out += summary_text("in the fit", summarize(v.rows));
  if (const auto held = summarize(v.rows, true); !held.empty()) out += summary_text("held out of every fit", held);
  for (const LeftOutSteps by : kinds_left_out(v)) {
    const std::vector<StepRow> rows = rows_left_out(v.left_out, by);
    out += summary_text(fmt::format("by fits without any step of the same {}", name_of(by)), summarize(rows));
    out += summary_text("the same, each source counting once", kinds_of(rows));
    out += spreads_text(rows, "{:>31}: {:.4g}, 90 %: {:.4g} to {:.4g}\n");
  }
  return out;
}

std::string steps_markdown(const StepValidation& v, const Hardware& hardware, const std::string& tables,
                           const std::string& rows_of_tables) {
  std::string out =
      fmt::format(
          "# Validation of step times\n\n"
          "Written by `fabricast calibrate validate --steps{} --markdown docs/validation-steps.md`.\n",
          asked_for(v) + (tables.find("## Differences") == std::string::npos ? "" : " --differences")) +
      "Published steps are in `calibrate/data/steps.json`, each with its scenario and source; what was not published "
      "of\n"
      "them and is taken from public run scripts, identities or guesses is said in\n"
      "[models/training.md](models/training.md). Error is forecast over published, less one.\n"
      "`x/:`: with 90 % the measured step lies between the forecast divided and multiplied by it.\n\n"
      "Most rows hardly feel the network: they test computation, schedules and tensor parallelism\n"
      "[steptime-study]. What a step feels of the fabric is tested by itself.\n\n";
  if (!tables.empty())
    out +=
        "[Published tables](#published-tables) come after; [where their largest errors are]"
        "(calibrate/published-steps.md#where-it-is-off).\n";
  out += left_out_markdown(v);
  out += "\n## In the fit\n\n";
  out += summary_markdown(summarize(v.rows));
  if (const auto held = summarize(v.rows, true); !held.empty())
    out += "\n## Held out of every fit\n\n" + summary_markdown(held);
  out += tables;
  out += "\n## Rows\n\n| step | source | published s | forecast s | x/: | error % |\n|---|---|---:|---:|---:|---:|\n";
  for (const StepRow& row : v.rows)
    out += fmt::format("| {} | {}{} | {:.4g} | {:.4g} | {:.2f} | {:+.1f} |\n", row.id, row.source,
                       row.held_out ? ", held out" : "", row.measured, row.forecast, row.factor, 100 * row.error());
  out += "\n## Parameters\n\n| parameter | value | 90 % interval | source |\n|---|---:|---:|---|\n";
  Hardware copy = hardware;
  for (const auto& [path, p] : copy.all_parameters())
    if (path.starts_with("compute.") || path.starts_with("stacks.") || path.starts_with("forecast.steps."))
      out += fmt::format("| {} | {:.4g} {} | {:.4g} to {:.4g} | {} |\n", path, p.parameter->value, p.unit,
                         p.parameter->low, p.parameter->high, p.parameter->source);
  return out + rows_of_tables;
}

}  // namespace fabricast
