// The sections on published tables of docs/validation-steps.md. The page is generated, so that its numbers are those of
// the current model; text and tables are written together here.
#include <fmt/format.h>

#include <map>
#include <set>

#include "fabricast/calibrate/published_validation.hpp"

namespace fabricast {

namespace {

std::string counts_table(const std::vector<KeyCount>& counts, const char* what) {
  std::string out = fmt::format("| {} | rows |\n|---|---:|\n", what);
  for (const KeyCount& c : counts) out += fmt::format("| {} | {} |\n", c.key, c.rows);
  return out;
}

std::string mean_row(const char* kind, const SourceMean& m) {
  return fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {:+.1f} | {} |\n", kind, m.sources, m.rows, 100 * m.mean,
                     100 * m.median, 100 * m.bias, m.within);
}

/// The assumptions about the rows of each source, each with the number of rows that share it.
std::string assumed_table(const std::vector<PublishedResult>& results) {
  // Sources keep the order of the table; a map alone would sort them.
  std::vector<std::string> sources;
  std::map<std::string, std::map<std::string, std::size_t>> by_source;
  for (const PublishedResult& r : results) {
    const std::string& source = r.mapped.row.source;
    if (!by_source.contains(source)) sources.push_back(source);
    auto& own = by_source[source];
    for (const Assumed& a : r.mapped.assumed) ++own[fmt::format("`{}`: {} ({})", a.key, a.value, a.why)];
  }
  std::string out = "| source | assumed | rows |\n|---|---|---:|\n";
  for (const std::string& source : sources)
    for (const auto& [text, rows] : by_source[source]) out += fmt::format("| {} | {} | {} |\n", source, text, rows);
  return out;
}

}  // namespace

std::string published_rows_markdown(const std::vector<PublishedResult>& results) {
  std::string out =
      "\n## Rows of published tables\n\n| row | model | GPUs | published s | forecast s | factor | error % "
      "|\n|---|---|---:|---:|---:|---:|---:|\n";
  for (const PublishedResult& r : results) {
    const PublishedRow& row = r.mapped.row;
    // Dimensions that follow the name would make the table too wide.
    const std::string model = row.model.substr(0, row.model.find(' '));
    if (r.outcome == RowOutcome::forecast)
      out +=
          fmt::format("| {} | {}, {} | {} | {:.4g} | {:.4g} | {:.2f} | {:+.1f} |\n", r.mapped.id, model, row.precision,
                      row.gpus, r.step.measured.value, r.step.forecast.value, r.step.factor, 100 * r.step.error());
    else if (r.outcome == RowOutcome::refused)
      out += fmt::format("| {} | {}, {} | {} | {:.4g} | refused: {} | | |\n", r.mapped.id, model, row.precision,
                         row.gpus, r.mapped.time.value, r.key);
  }
  return out;
}

std::string published_markdown(const std::vector<PublishedResult>& results) {
  const std::vector<PublishedSummary> summaries = summarize_published(results);
  std::string out =
      "\n## Published tables\n\n"
      "This section compares forecasts with the rows of `calibrate/data/training_steps.csv` [training-steps]. A\n"
      "[mapping](calibrate/published-steps.md) makes a scenario of each row. At most eight rows of each source and\n"
      "kind of model are in the fit, with a total weight of at most four. Most of these errors are therefore of rows\n"
      "that the fit has not seen, from sources that it has seen.\n\n"
      "- refused: the scenario does not fit in memory by the estimate, or its split is inconsistent\n"
      "- unmapped: a scenario cannot express the row, because a setting has no key or a needed value is not stated\n"
      "- repeated: the same step is in `calibrate/data/steps.json`, or earlier in the table\n\n"
      "| source | model | rows | forecast | refused | unmapped | repeated | mean % | median % | bias % | worst % | in "
      "interval |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const PublishedSummary& s : summaries) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |", s.source, s.experts ? "MoE" : "dense", s.rows,
                       s.forecast, s.refused, s.unsayable, s.repeated);
    out += s.forecast > 0 ? fmt::format(" {:.1f} | {:.1f} | {:+.1f} | {:+.1f} | {} |\n", 100 * s.mean, 100 * s.median,
                                        100 * s.bias, 100 * s.worst, s.within)
                          : std::string(" | | | | |\n");
  }
  out +=
      "\nEach source counts once:\n\n"
      "| model | sources | rows | mean % | median % | bias % | in interval |\n|---|---:|---:|---:|---:|---:|---:|\n" +
      mean_row("dense", mean_over_sources(summaries, false)) + mean_row("MoE", mean_over_sources(summaries, true));
  out += "\n### What is missing\n\nUnmapped rows, by the first thing that is missing:\n\n" +
         counts_table(missing_keys(results), "missing");
  out += "\nRefused rows, by the key that is refused:\n\n" + counts_table(refusals(results), "key");
  out += "\nSettings that a scenario has no key for. These rows are forecast without the setting:\n\n" +
         counts_table(unsaid_settings(results), "setting");
  out += "\n### What was assumed\n\n" + assumed_table(results);
  return out;
}

}  // namespace fabricast
