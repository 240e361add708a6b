// The validation of serving as text: rows with their assumptions if wanted, then errors by source and means over
// sources, then what could not be forecast and why.
#include <fmt/format.h>

#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast {

namespace serving {

namespace {

std::string counts_text(const char* title, const std::vector<KeyCount>& counts) {
  if (counts.empty()) return {};
  std::string out = fmt::format("\n{}\n", title);
  for (const KeyCount& c : counts) out += fmt::format("{:>6}  {}\n", c.rows, c.key);
  return out;
}

std::string row_text(const ServingResult& r) {
  const MappedServing& m = r.mapped;
  std::string out = fmt::format("{:>22} {:<14} {:>11.5g}", m.id, m.row.metric, m.row.value);
  if (r.outcome == RowOutcome::unsayable) return out + "  unmapped: " + r.why + "\n";
  if (r.outcome == RowOutcome::refused) return out + "  refused: " + r.key + ": " + r.why + "\n";
  out += fmt::format(" {:>11.5g} {:>9.1f}\n", r.forecast, 100 * r.error());
  for (const Assumed& a : m.assumed) out += fmt::format("{:>24}assumed {}: {} ({})\n", "", a.key, a.value, a.why);
  for (const std::string& setting : m.unsaid) out += fmt::format("{:>24}without: {}\n", "", setting);
  return out;
}

}  // namespace

}  // namespace serving

std::string serving_text(const std::vector<ServingResult>& results, bool rows) {
  using namespace serving;
  std::string out;
  if (rows) {
    out = "                   row metric           published    forecast   error %\n";
    for (const ServingResult& r : results) out += row_text(r);
    out += "\n";
  }
  out +=
      "published serving, by source\n"
      "           source  model  metric           rows  forecast  refused  unmapped   mean %  median %   bias %  worst "
      "%  in interval\n";
  const std::vector<ServingSummary> summaries = summarize_serving(results);
  for (const ServingSummary& s : summaries) {
    out += fmt::format("{:>17}  {:<6} {:<15} {:>5} {:>9} {:>8} {:>9}", s.source, s.experts ? "MoE" : "dense",
                       name_of(s.metric), s.rows, s.forecast, s.refused, s.unsayable);
    if (s.forecast > 0)
      out += fmt::format(" {:>8.1f} {:>9.1f} {:>8.1f} {:>8.1f} {:>12}", 100 * s.mean, 100 * s.median, 100 * s.bias,
                         100 * s.worst, s.within);
    out += "\n";
  }
  out +=
      "\nmean over sources, each once\n           model  metric          sources  rows   mean %  median %   bias %  in "
      "interval\n";
  for (const ServingMean& m : serving_means(summaries))
    out += fmt::format("           {:<6} {:<15} {:>7} {:>5} {:>8.1f} {:>9.1f} {:>8.1f} {:>12}\n",
                       m.experts ? "MoE" : "dense", name_of(m.metric), m.sources, m.rows, 100 * m.mean, 100 * m.median,
                       100 * m.bias, m.within);
  out += counts_text("unmapped rows, by what is missing", missing_keys(results));
  out += counts_text("refused rows, by key", refusals(results));
  out += counts_text("settings without a scenario key, which the forecast ignores", unsaid_settings(results));
  return out;
}

}  // namespace fabricast
