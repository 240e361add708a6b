// The result of a fit to one site as text, and its profile.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/import_cases.hpp"
#include "fabricast/calibrate/site_fit.hpp"

namespace fabricast {

namespace {

std::string band_line(std::string_view name, const BandValues& values) {
  std::string out = fmt::format("  {:<44}", name);
  for (const double value : values)
    out += value > 0 ? fmt::format("{:>18.1f}", 100 * value) : fmt::format("{:>18}", "-");
  return out + "\n";
}

/// The heading of a table by size band.
std::string band_names(const std::string& of) {
  std::string out = fmt::format("{:<46}", of);
  for (const Band& band : bands) out += fmt::format("{:>18}", band.name);
  return out + "\n";
}

std::string errors_text(const SiteFit& site) {
  const PartErrors& e = site.errors;
  if (e.parts < 2)
    return "too few rows to test whether fitted parameters would be better; forecasts are conditioned on the rows "
           "instead\n";
  std::string out = band_names(fmt::format("median error in % of left-out rows, {} parts", e.parts));
  out += band_line("as shipped", e.shipped) + band_line("conditioned on the other rows", e.rows) +
         band_line("and parameters fitted to them", e.fitted);
  out += site.refused ? "the fit is refused: fitted parameters do not forecast left-out rows better; forecasts are "
                        "conditioned on the rows instead\n"
                      : "the fit is accepted\n";
  return out;
}

std::string doubts_text(const SiteFit& site) {
  std::string out;
  for (const Doubt& d : site.doubts) {
    out += fmt::format("warning: {} would be {:.4g}{}{} instead of {:.4g}, beyond its 99 % range", d.path, d.after,
                       d.unit.empty() ? "" : " ", d.unit, d.before);
    if (!d.case_id.empty()) out += fmt::format("; mostly because of {} B of {}", d.bytes, d.case_id);
    out += "\n";
    if (!d.instead.empty()) out += fmt::format("  hint: check the harness first: {}\n", d.instead);
  }
  return out;
}

std::string seen_text(const std::vector<MeasuredCase>& seen) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> by_kind;  // cases and rows
  for (const MeasuredCase& c : seen) {
    auto& [cases, rows] = by_kind[fmt::format("{} on {} {}", c.collective, c.nodes, c.nodes == 1 ? "node" : "nodes")];
    ++cases;
    rows += c.rows.size();
  }
  // Forecasts are conditioned on these rows, so a user must see which collectives and sizes of jobs the profile knows.
  std::string out = "measured rows in this profile:";
  const char* comma = "";
  for (const auto& [kind, counts] : by_kind) {
    out += fmt::format("{} {} ({} rows)", comma, kind, counts.second);
    comma = ",";
  }
  return out + "\n";
}

}  // namespace

std::string site_fit_text(const SiteFit& site) {
  std::string out = seen_text(site.seen) + errors_text(site) + doubts_text(site);
  // FittedParameter has no unit; the schema of the hardware's parameters has.
  std::map<std::string, std::string> units;
  Hardware hardware = site.fit.hardware;
  for (const auto& [path, ref] : hardware.all_parameters(true)) units[path] = ref.unit;
  if (!site.fit.parameters.empty())
    out += fmt::format("  {:<44} {:>9}    {:>9} {:<5} {:>13} {:>8}\n", "parameter", "before", "after", "unit",
                       "90 % interval", "rows");
  for (const FittedParameter& p : site.fit.parameters)
    out += fmt::format("  {:<44} {:>9.4g} -> {:>9.4g} {:<5} {:>13} {:>8}\n", p.path, p.before.value, p.after.value,
                       units[p.path], fmt::format("factor {:.2f}", std::exp(quantile_95 * p.error)), p.rows);
  if (!site.larger.empty()) out += band_names("expected 90 % interval, +- %");
  for (const LargerJob& job : site.larger)
    out += band_line(fmt::format("on {} {}", job.nodes, job.nodes == 1 ? "node" : "nodes"), job.half_width);
  return out;
}

std::string site_profile_json(const SiteFit& site, const std::string& source) {
  ImportedCases cases;
  cases.cases = site.seen;
  cases.sources.assign(site.seen.size(), source);
  std::string rows = cases_json(cases);
  while (rows.ends_with('\n')) rows.pop_back();
  // A refused fit leaves a profile without parameters. Its rows alone improve forecasts.
  if (site.refused) return fmt::format("{{\n  \"measured\": {}\n}}\n", rows);
  std::string profile = profile_json(site.fit, source);
  // Adds one more section before the closing brace of the profile's outermost object.
  const auto end = profile.rfind('}');
  return profile.substr(0, profile.find_last_not_of(" \n", end - 1) + 1) +
         fmt::format(",\n  \"measured\": {}\n}}\n", rows);
}

}  // namespace fabricast
