// The validation of steps as text and as docs/validation-steps.md. The page is generated, so that its numbers are those
// of the current model.
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

/// The means of dense and of MoE models, where there are any.
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
      return "Each software generation is forecast by a fit without any of its steps. Its own parameters stay at their "
             "priors.";
    case LeftOutSteps::source: return "Each source is forecast by a fit without any of its rows.";
    case LeftOutSteps::family:
      return "Each family of sources is forecast by a fit without any of its rows. Releases of one table repeat each "
             "other's rows, so\nsources whose names begin in the same way form a family.";
  }
  return {};
}

/// The kinds of groups that were left out, each once.
std::vector<LeftOutSteps> kinds_left_out(const StepValidation& v) {
  std::vector<LeftOutSteps> kinds;
  // Fits are sorted by kind of group.
  for (const LeftOutFit& f : v.left_out)
    if (kinds.empty() || kinds.back() != f.by) kinds.push_back(f.by);
  return kinds;
}

/// The spreads that rows that no fit has seen require, of dense and of MoE models.
std::string spreads_text(const std::vector<StepRow>& left_out, const char* form) {
  std::string out;
  // What `forecast.steps.*` would be if it were learned from these rows, to compare with the shipped values.
  for (const FittedParameter& p : learned_step_spread(left_out, prior_hardware()))
    out += fmt::format(fmt::runtime(form), p.path, p.after.value, p.after.low, p.after.high);
  return out;
}

/// The options that requested the groups.
std::string options_of(const StepValidation& v) {
  std::string out;
  for (const LeftOutSteps by : kinds_left_out(v)) out += fmt::format(" --leave-out {}", name_of(by));
  return out;
}

std::string left_out_markdown(const StepValidation& v) {
  std::string out;
  for (const LeftOutSteps by : kinds_left_out(v)) {
    const std::vector<StepRow> rows = rows_left_out(v.left_out, by);
    out += fmt::format("\n## Left out by {}\n\n{}\n", name_of(by), what_was_left_out(by));
    // What all kinds have in common is said once.
    if (by == kinds_left_out(v).front())
      out +=
          "Each fit starts at the priors. The widths of the intervals are learned from the errors of the other groups "
          "that were left out.\n"
          "At most eight rows of each source and kind of model are fitted and forecast. The priors of some parameters "
          "come from a study of the\nrows of `calibrate/data/steps.json` [steptime-study], so this section understates "
          "the errors of these rows.\n";
    out += fmt::format("\nEach source counts once:\n\n{}\n{}", summary_markdown(kinds_of(rows)),
                       summary_markdown(summarize(rows)));
    out += spreads_text(rows, "\nSpread that these errors require, `{}`: {:.3g} ({:.2g} to {:.2g}).\n");
  }
  return out;
}

}  // namespace

std::string steps_text(const StepValidation& v) {
  std::string out = "                           step   measured s   forecast s factor   error %\n";
  for (const StepRow& row : v.rows)
    out += fmt::format("{:>31} {:>12.5g} {:>12.5g} {:>6.2f} {:>9.1f}{}\n", row.id, row.measured.value,
                       row.forecast.value, row.factor, 100 * row.error(), row.held_out ? "  held out" : "");
  out += summary_text("in the fit", summarize(v.rows));
  if (const auto held = summarize(v.rows, true); !held.empty()) out += summary_text("held out of every fit", held);
  for (const LeftOutSteps by : kinds_left_out(v)) {
    const std::vector<StepRow> rows = rows_left_out(v.left_out, by);
    out += summary_text(fmt::format("left out of the fit by {}", name_of(by)), summarize(rows));
    out += summary_text("the same, each source counting once", kinds_of(rows));
    out += spreads_text(rows, "{:>31}: {:.4g}, 90 %: {:.4g} to {:.4g}\n");
  }
  return out;
}

std::string steps_markdown(const StepValidation& v, const Hardware& hardware, const std::string& tables,
                           const std::string& rows_of_tables) {
  std::string out =
      "# Validation of step times\n\n"
      "This page compares forecasts with published times of training steps. The steps are in\n"
      "`calibrate/data/steps.json`, each with its scenario and source. Settings that were not published come from\n"
      "public run scripts, identities or guesses; [models/training.md](models/training.md) states which.\n" +
      fmt::format("Written by `fabricast calibrate validate --steps{} --markdown docs/validation-steps.md`.\n\n",
                  options_of(v) + (tables.find("## Differences") == std::string::npos ? "" : " --differences")) +
      "The error is forecast / published - 1. `factor` is that of the 90 % interval: the measured step is between\n"
      "the forecast divided by this factor and the forecast multiplied by it, with a probability of 90 %.\n\n"
      "Most rows hardly depend on the network. They test computation, schedules and tensor parallelism\n"
      "[steptime-study]. The effect of the fabric on a step is tested separately.\n\n";
  if (!tables.empty())
    out +=
        "[Published tables](#published-tables) follow below. Another page lists [where their largest errors are]"
        "(calibrate/published-steps.md#where-it-is-off).\n";
  out += left_out_markdown(v);
  out += "\n## In the fit\n\n";
  out += summary_markdown(summarize(v.rows));
  if (const auto held = summarize(v.rows, true); !held.empty())
    out += "\n## Held out of every fit\n\n" + summary_markdown(held);
  out += tables;
  out +=
      "\n## Rows\n\n| step | source | published s | forecast s | factor | error % |\n|---|---|---:|---:|---:|---:|\n";
  for (const StepRow& row : v.rows)
    out += fmt::format("| {} | {}{} | {:.4g} | {:.4g} | {:.2f} | {:+.1f} |\n", row.id, row.source,
                       row.held_out ? ", held out" : "", row.measured.value, row.forecast.value, row.factor,
                       100 * row.error());
  out += "\n## Parameters\n\n| parameter | value | 90 % interval | source |\n|---|---:|---:|---|\n";
  Hardware copy = hardware;
  // Parameters of collectives are on docs/validation.md.
  for (const auto& [path, p] : copy.all_parameters())
    if (path.starts_with("compute.") || path.starts_with("stacks.") || path.starts_with("forecast.steps."))
      out += fmt::format("| {} | {:.4g} {} | {:.4g} to {:.4g} | {} |\n", path, p.parameter->value, p.unit,
                         p.parameter->low, p.parameter->high, p.parameter->source);
  return out + rows_of_tables;
}

}  // namespace fabricast
