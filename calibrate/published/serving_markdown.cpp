// The content of docs/validation-serving.md, which is generated so that its numbers are those of the current model.
#include <fmt/format.h>

#include <map>

#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast {

namespace serving {

namespace {

std::string counts_table(const std::vector<KeyCount>& counts, const char* what) {
  std::string out = fmt::format("| {} | rows |\n|---|---:|\n", what);
  for (const KeyCount& c : counts) out += fmt::format("| {} | {} |\n", c.key, c.rows);
  return out;
}

std::string sources_table(const std::vector<ServingSummary>& summaries) {
  std::string out =
      "| source | model | metric | rows | forecast | refused | unmapped | mean % | median % | bias % | worst % | in "
      "interval |\n"
      "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const ServingSummary& s : summaries) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |", s.source, s.experts ? "MoE" : "dense", name_of(s.metric),
                       s.rows, s.forecast, s.refused, s.unsayable);
    out += s.forecast > 0 ? fmt::format(" {:.1f} | {:.1f} | {:+.1f} | {:+.1f} | {} |\n", 100 * s.mean, 100 * s.median,
                                        100 * s.bias, 100 * s.worst, s.within)
                          : std::string(" | | | | |\n");
  }
  return out;
}

std::string means_table(const std::vector<ServingMean>& means) {
  std::string out =
      "| model | metric | sources | rows | mean % | median % | bias % | in interval "
      "|\n|---|---|---:|---:|---:|---:|---:|---:|\n";
  for (const ServingMean& m : means)
    out += fmt::format("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:+.1f} | {} |\n", m.experts ? "MoE" : "dense",
                       name_of(m.metric), m.sources, m.rows, 100 * m.mean, 100 * m.median, 100 * m.bias, m.within);
  return out;
}

/// The assumptions about the rows of each source, each with the number of rows that share it.
std::string assumed_table(const std::vector<ServingResult>& results) {
  std::vector<std::string> sources;
  std::map<std::string, std::map<std::string, std::size_t>> by_source;
  for (const ServingResult& r : results) {
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

std::string rows_table(const std::vector<ServingResult>& results) {
  std::string out = "| row | model | metric | published | forecast | error % |\n|---|---|---|---:|---:|---:|\n";
  for (const ServingResult& r : results) {
    const ServingRow& row = r.mapped.row;
    if (r.outcome == RowOutcome::unsayable) continue;
    out += fmt::format("| {} | {}, {} | {} | {:.4g} |", r.mapped.id, row.model, row.precision, row.metric, row.value);
    out += r.outcome == RowOutcome::forecast ? fmt::format(" {:.4g} | {:+.1f} |\n", r.forecast, 100 * r.error())
                                             : fmt::format(" refused: {} | |\n", r.key);
  }
  return out;
}

}  // namespace

}  // namespace serving

std::string serving_markdown(const ServingPage& page) {
  using namespace serving;
  // With sources left out, the page shows both errors: of sources that the fit has not seen, and of the fit.
  const bool left_out = !page.in_the_fit.empty();
  const std::vector<ServingSummary> summaries = summarize_serving(page.results);
  std::string out =
      "# Validation of serving\n\n"
      "This page compares forecasts with the rows of `calibrate/data/serving.csv` [serving-measurements]. A\n"
      "[mapping](calibrate/published-serving.md) makes a scenario of each row. ";
  out += left_out ? "Each source is forecast with parameters fitted without\n"
                    "its rows ([how](models/inference.md#the-fit)).\n"
                  : "Some rows are in the fit\n"
                    "([which ones](models/inference.md#the-fit)); `--leave-out source` leaves out each source.\n";
  out += fmt::format("Written by `fabricast calibrate validate --serving{} --markdown docs/validation-serving.md`.\n\n",
                     left_out ? " --leave-out source" : "");
  out +=
      "The error is forecast / published - 1. For times, `+` means that the forecast is too slow; for rates, that it\n"
      "is too fast.\n\n"
      "- in interval: rows that are in their 90 % interval\n"
      "- refused: the scenario does not fit in memory by the estimate, or its split is inconsistent\n"
      "- unmapped: a scenario cannot express the row, because a setting has no key or a needed value is not stated\n\n";
  out += fmt::format("## {}\n\nEach source counts once. Single all-reduces count as dense.\n\n",
                     left_out ? "Left out by source" : "By metric");
  out += means_table(serving_means(summaries));
  if (left_out) out += "\n## In the fit\n\n" + means_table(serving_means(summarize_serving(page.in_the_fit)));
  out += "\n## By source\n\n" + sources_table(summaries);
  out += "\n## What is missing\n\nUnmapped rows, by the first thing that is missing:\n\n" +
         counts_table(missing_keys(page.results), "missing");
  out += "\nRefused rows, by the key that is refused:\n\n" + counts_table(refusals(page.results), "key");
  out += "\nSettings that a scenario has no key for. These rows are forecast without the setting:\n\n" +
         counts_table(unsaid_settings(page.results), "setting");
  out += "\n## What was assumed\n\n" + assumed_table(page.results);
  out += "\n## Rows\n\n" + rows_table(page.results);
  return out;
}

}  // namespace fabricast
