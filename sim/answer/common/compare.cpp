// Compares two forecasts that `run --json` has written, for continuous integration (report/compare.hpp).
//
// The input is JSON, not the records of forecasts: one of the two files may come from an older version of the program.
// Figures are matched by their names, so fields that this version does not know do no harm. Only figures that decide
// are compared; breakdowns and memory may change without a forecast becoming worse.
#include "fabricast/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "../../../models/hardware/json_text.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::json;

/// A figure of a step or of inference, by its path in the JSON.
struct StepFigure {
  const char* path;
  std::string_view what, unit;
  bool more_is_better;
};
// The figures of steps and of inference that are compared, by their path in docs/formats.md. Waits are the means over
// requests: the percentiles of a finite load move by single requests.
constexpr std::array step_figures = {
    StepFigure{"step_s", "step", "s", false},
    StepFigure{"tokens_per_s", "tokens", "tokens/s", true},
    StepFigure{"prefill_s", "prefill", "s", false},
    StepFigure{"shared.ttft_s", "TTFT", "s", false},
    StepFigure{"shared.itl_s", "TPOT", "s", false},
    StepFigure{"shared.request_s", "request", "s", false},
    StepFigure{"shared.tokens_per_s", "throughput", "tokens/s", true},
    StepFigure{"disaggregated.ttft_s", "TTFT, disaggregated", "s", false},
    StepFigure{"disaggregated.itl_s", "TPOT, disaggregated", "s", false},
    StepFigure{"disaggregated.request_s", "request, disaggregated", "s", false},
    StepFigure{"disaggregated.tokens_per_s", "throughput, disaggregated", "tokens/s", true},
};

struct Figure {
  std::string what, unit;
  double value = 0;
  bool more_is_better = false;
  std::map<std::string, std::string> choices;  ///< how it comes about: algorithm, channels, bottleneck
};

// All problems of the files have the same remedy, so the hint is always how to write such a file.
[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw UserError({Diagnostic{Diagnostic::Severity::error,
                              {file, 0, 0, 1},
                              {},
                              message,
                              "`fabricast run SCENARIO.yaml --json FILE` writes forecasts to compare"}});
}

// Losses are relative to the older value, so zeros, negative numbers and NaN (which fails the comparison) are refused
// rather than divided by.
double positive(const Json& j, const std::string& file, const std::string& what) {
  if (!j.is_number() || !(j.get<double>() > 0)) refuse(file, fmt::format("{} is not a positive number", what));
  return j.get<double>();
}

// Fields of the choice may be missing in files of older versions or of kernels without an algorithm. An empty text is
// then equal to an empty text, and no change is reported.
std::string text_at(const Json& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end()) return {};
  return it->is_string() ? it->get<std::string>() : it->dump();
}

// One figure per size. The choice of NCCL and the bottleneck are kept next to the time, because they usually explain
// why it changed.
std::vector<Figure> row_figures(const Json& rows, const std::string& file) {
  std::vector<Figure> figures;
  if (!rows.is_array()) refuse(file, "`rows` is not a list");
  for (const Json& row : rows) {
    const auto bytes = row.is_object() ? row.find("bytes") : row.end();
    if (bytes == row.end() || !bytes->is_number_integer() || !row.contains("time_us"))
      refuse(file, "a row has no `bytes` or no `time_us`");
    const std::string what = to_text(Bytes{bytes->get<std::int64_t>()});
    figures.push_back({what, "us", positive(row["time_us"], file, "time_us of " + what), false, {}});
    figures.back().choices = {{"choice", text_at(row, "algorithm") + "/" + text_at(row, "protocol")},
                              {"channels", text_at(row, "channels")},
                              {"bound by", text_at(row, "bottleneck")}};
  }
  return figures;
}

/// The value at a path of keys joined by dots, or null.
const Json* at_path(const Json& j, const std::string& path) {
  const Json* value = &j;
  for (const std::string& key : split(path, '.')) {
    const auto it = value->is_object() ? value->find(key) : value->end();
    if (it == value->end()) return nullptr;
    value = &*it;
  }
  return value;
}

struct ReadForecast {
  Json json;
  std::vector<Figure> figures;
};

ReadForecast read_forecast(const std::string& text, const std::string& file) {
  ReadForecast read{parse_json_text(text, file), {}};
  const Json& j = read.json;
  if (!j.is_object() || !j.contains("fabricast")) refuse(file, "not a forecast");
  if (j.contains("rows")) read.figures = row_figures(j["rows"], file);
  for (const StepFigure& f : step_figures)
    if (const Json* value = at_path(j, f.path))
      read.figures.push_back(
          {std::string(f.what), std::string(f.unit), positive(*value, file, f.path), f.more_is_better, {}});
  if (read.figures.empty()) refuse(file, "the forecast has neither rows nor a step");
  return read;
}

// Values may be whole sections (a list of faults, a topology), which would fill the screen.
std::string short_text(const Json* j) {
  if (!j) return "(none)";
  std::string text = j->is_string() ? j->get<std::string>() : j->dump();
  constexpr std::size_t most = 60;
  if (text.size() > most) text = text.substr(0, most - 3) + "...";
  return text;
}

/// Appends the keys that differ between two scenarios, as "path: before -> after".
void differences(const Json& before, const Json& after, const std::string& path, std::vector<std::string>& out) {
  if (before == after) return;
  if (!before.is_object() || !after.is_object()) {
    out.push_back(fmt::format("{}: {} -> {}", path, short_text(&before), short_text(&after)));
    return;
  }
  // The union of the keys, sorted by name: the order of the result does not depend on the order in the files. Lists are
  // compared as wholes, because an inserted entry would otherwise make all later ones differ.
  std::map<std::string, std::pair<const Json*, const Json*>> keys;
  for (const auto& [key, value] : before.items()) keys[key].first = &value;
  for (const auto& [key, value] : after.items()) keys[key].second = &value;
  for (const auto& [key, both] : keys) {
    const std::string at = path.empty() ? key : path + "." + key;
    if (both.first && both.second)
      differences(*both.first, *both.second, at, out);
    else
      out.push_back(fmt::format("{}: {} -> {}", at, short_text(both.first), short_text(both.second)));
  }
}

// Names are unique in a forecast, except that a scenario may list a size twice. Both rows of such a size have equal
// times, so the first match is as good as the other.
const Figure* find(const std::vector<Figure>& figures, const Figure& like) {
  const auto it = std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.what == like.what; });
  return it == figures.end() ? nullptr : &*it;
}

ComparedFigure compared(const Figure& before, const Figure& after) {
  ComparedFigure c{before.what, before.unit, before.value, after.value, before.more_is_better, {}};
  for (const auto& [name, was] : before.choices)
    if (const auto it = after.choices.find(name); it != after.choices.end() && it->second != was)
      c.changed.push_back(name == "choice" ? fmt::format("{} -> {}", was, it->second)
                                           : fmt::format("{} {} -> {}", name, was, it->second));
  return c;
}

std::string verdict(const ComparedFigure& f, double tolerance) {
  return f.loss() > tolerance ? "worse" : f.loss() < -tolerance ? "better" : "";
}

}  // namespace

double ComparedFigure::loss() const { return more_is_better ? (before - after) / before : (after - before) / before; }

std::size_t ForecastComparison::worse(double tolerance) const {
  return static_cast<std::size_t>(
      std::count_if(figures.begin(), figures.end(), [&](const ComparedFigure& f) { return f.loss() > tolerance; }));
}

ForecastComparison compare_forecasts(const std::string& before, const std::string& before_name,
                                     const std::string& after, const std::string& after_name) {
  const ReadForecast older = read_forecast(before, before_name), newer = read_forecast(after, after_name);
  ForecastComparison c;
  for (const Figure& f : older.figures)
    if (const Figure* now = find(newer.figures, f))
      c.figures.push_back(compared(f, *now));
    else
      c.gone.push_back(f.what);
  for (const Figure& f : newer.figures)
    if (!find(older.figures, f)) c.added.push_back(f.what);
  if (c.figures.empty())
    refuse(after_name, fmt::format("no figure in common with {}: that file has {}, this one {}", before_name,
                                   c.gone.front(), c.added.front()));
  const auto text = [](const Json& j, const char* key) { return j.contains(key) ? j[key] : Json(); };
  if (const Json was = text(older.json, "fabricast"), is = text(newer.json, "fabricast"); was != is)
    c.changed.push_back(fmt::format("fabricast: {} -> {}", short_text(&was), short_text(&is)));
  differences(text(older.json, "scenario"), text(newer.json, "scenario"), "", c.changed);
  // Times in the files are rounded to ten digits. The fingerprint is a hash over the event trajectories of all samples,
  // so it also reveals a change that no printed figure shows.
  c.same = c.changed.empty() && c.gone.empty() && c.added.empty() &&
           text(older.json, "fingerprint") == text(newer.json, "fingerprint") &&
           std::all_of(c.figures.begin(), c.figures.end(), [](const ComparedFigure& f) { return f.before == f.after; });
  return c;
}

std::string comparison_text(const ForecastComparison& c, double tolerance) {
  std::string out;
  for (const std::string& change : c.changed) out += fmt::format("# changed: {}\n", change);
  if (c.changed.empty()) out += "# same version and same scenario\n";
  std::size_t width = 8;
  for (const ComparedFigure& f : c.figures) width = std::max(width, f.what.size());
  out += fmt::format("#\n# {:>{}} {:>12} {:>12}  {:<8} {:>9}\n", "figure", width, "before", "after", "unit", "change");
  for (const ComparedFigure& f : c.figures) {
    // The sign of `change` is that of the figure: +5 % is good for throughput and bad for time. The verdict says which.
    const double percent = 100 * (f.after - f.before) / f.before;
    const double shown = std::abs(percent) < 0.005 ? 0 : percent;  // not "-0.00"
    std::string line = fmt::format("  {:>{}} {:>12.5g} {:>12.5g}  {:<8} {:>+8.2f}%  {:<6}  {}", f.what, width, f.before,
                                   f.after, f.unit, shown, verdict(f, tolerance), fmt::join(f.changed, "; "));
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  for (const std::string& what : c.gone) out += fmt::format("  {:>{}} is missing in the newer forecast\n", what, width);
  for (const std::string& what : c.added) out += fmt::format("  {:>{}} is new\n", what, width);
  const std::size_t worse = c.worse(tolerance);
  if (!c.passes(tolerance))
    return out + fmt::format("# {} of {} figures are worse by more than {:g} %{}\n", worse, c.figures.size(),
                             100 * tolerance, c.gone.empty() ? "" : fmt::format(", {} are missing", c.gone.size()));
  return out + (c.same ? "# the same forecast\n"
                       : fmt::format("# no figure is worse by more than {:g} %\n", 100 * tolerance));
}

std::string comparison_json(const ForecastComparison& c, double tolerance) {
  nlohmann::ordered_json j = {{"tolerance", tolerance}, {"passes", c.passes(tolerance)}, {"same", c.same}};
  j["figures"] = nlohmann::ordered_json::array();
  for (const ComparedFigure& f : c.figures)
    j["figures"].push_back({{"what", f.what},
                            {"unit", f.unit},
                            {"before", f.before},
                            {"after", f.after},
                            {"loss", rounded(f.loss(), 10)},
                            {"verdict", verdict(f, tolerance)},
                            {"changed", f.changed}});
  j["gone"] = c.gone;
  j["added"] = c.added;
  j["changed"] = c.changed;
  return j.dump(1) + "\n";
}

}  // namespace fabricast
