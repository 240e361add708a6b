// The validation of published steps as text: rows with their assumptions if wanted, then errors by source and means
// over sources, then what could not be forecast and why.
#include <fmt/format.h>

#include "fabricast/calibrate/published_validation.hpp"

namespace fabricast {

namespace {

std::string counts_text(const std::string& title, const std::vector<KeyCount>& counts) {
  if (counts.empty()) return {};
  std::string out = fmt::format("\n{}\n", title);
  for (const KeyCount& c : counts) out += fmt::format("{:>6}  {}\n", c.rows, c.key);
  return out;
}

std::string mean_text(const char* kind, const SourceMean& m) {
  if (m.sources == 0) return {};
  return fmt::format(
      "mean over sources, {}: {} sources, mean {:.1f} %, median {:.1f} %, bias {:+.1f} %; {} of {} rows in "
      "their interval\n",
      kind, m.sources, 100 * m.mean, 100 * m.median, 100 * m.bias, m.within, m.rows);
}

std::string row_text(const PublishedResult& r) {
  const std::string id = fmt::format("{:>33}", r.mapped.id);
  std::string out;
  switch (r.outcome) {
    case RowOutcome::forecast:
      out = fmt::format("{} {:>12.5g} {:>12.5g} {:>6.2f} {:>9.1f}\n", id, r.step.measured.value, r.step.forecast.value,
                        r.step.factor, 100 * r.step.error());
      break;
    case RowOutcome::refused:
      return fmt::format("{} {:>12.5g}  refused: {}: {}\n", id, r.mapped.time.value, r.key, r.why);
    case RowOutcome::unsayable: return fmt::format("{} {:>12.5g}  unmapped: {}\n", id, r.mapped.time.value, r.why);
    case RowOutcome::repeated: return fmt::format("{} {:>12.5g}  repeats {}\n", id, r.mapped.time.value, r.key);
  }
  for (const Assumed& a : r.mapped.assumed)
    out += fmt::format("{:>36}assumed {}: {} ({})\n", "", a.key, a.value, a.why);
  for (const std::string& setting : r.mapped.unsaid) out += fmt::format("{:>36}without: {}\n", "", setting);
  return out;
}

}  // namespace

std::string published_text(const std::vector<PublishedResult>& results, bool rows) {
  std::string out;
  if (rows) {
    out = "                              row  published s   forecast s factor   error %\n";
    for (const PublishedResult& r : results) out += row_text(r);
    out += "\n";
  }
  out +=
      "published tables, by source\n"
      "                        source  model   rows  forecast  refused  unmapped  repeated   mean %  median %   bias % "
      " worst %  in interval\n";
  const std::vector<PublishedSummary> summaries = summarize_published(results);
  for (const PublishedSummary& s : summaries) {
    out += fmt::format("{:>30}  {:<6}{:>5} {:>9} {:>8} {:>9} {:>9}", s.source, s.experts ? "MoE" : "dense", s.rows,
                       s.forecast, s.refused, s.unsayable, s.repeated);
    if (s.forecast > 0)
      out += fmt::format(" {:>8.1f} {:>9.1f} {:>8.1f} {:>8.1f} {:>12}", 100 * s.mean, 100 * s.median, 100 * s.bias,
                         100 * s.worst, s.within);
    out += "\n";
  }
  out += "\n" + mean_text("dense", mean_over_sources(summaries, false)) +
         mean_text("MoE", mean_over_sources(summaries, true));
  out += counts_text("unmapped rows, by what is missing", missing_keys(results));
  out += counts_text("refused rows, by key", refusals(results));
  out += counts_text("settings without a scenario key, which the forecast ignores", unsaid_settings(results));
  return out;
}

}  // namespace fabricast
