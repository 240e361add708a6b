// Ratios of two measured steps against the ratios of their forecasts. What both forecasts have wrong in common cancels,
// so a pair tests the one thing in which they differ (step_pairs.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "../../models/hardware/json_text.hpp"
#include "../cases/data_path.hpp"
#include "fabricast/calibrate/step_pairs.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

/// A smaller logarithm of a ratio counts as no difference.
constexpr double least_difference = 0.01;

StepPair pair_of(const json& j) {
  StepPair p;
  p.id = j.at("id").get<std::string>();
  p.kind = j.at("kind").get<std::string>();
  p.from = j.at("from").get<std::string>();
  p.to = j.at("to").get<std::string>();
  if (j.contains("from_change")) p.from_change = j.at("from_change").dump();
  if (j.contains("to_change")) p.to_change = j.at("to_change").dump();
  p.ratio = j.value("ratio", 0.0);
  if (!(p.ratio >= 0)) throw std::invalid_argument("'ratio' must be above 0");
  // A changed scenario has no time in the table, so the source must state the ratio.
  if (p.ratio == 0 && (!p.from_change.empty() || !p.to_change.empty()))
    throw std::invalid_argument("'ratio' is missing: there is no measured time of a changed scenario");
  return p;
}

/// A step or row that a pair names.
struct Measured {
  Seconds time;
  std::string scenario, missing;
};

std::map<std::string, Measured> measured_of(const std::vector<StepCase>& steps, const std::vector<MappedRow>& rows) {
  std::map<std::string, Measured> all;
  for (const StepCase& c : steps)
    if (!c.scenario.empty()) all[c.id] = {c.measured, c.scenario, {}};
  // Rows of published tables have ids like `source/17`, which no step has.
  for (const MappedRow& row : rows) all[row.id] = {row.time, row.scenario, row.missing};
  return all;
}

Seconds forecast_of(const std::string& id, const Measured& m, const std::string& change, const Hardware& hardware) {
  json scenario = json::parse(m.scenario);
  // RFC 7396: objects are merged, and null removes a key.
  if (!change.empty()) scenario.merge_patch(json::parse(change));
  StepCase step;
  step.id = id;
  step.measured = m.time;
  step.scenario = scenario.dump();
  return StepRunner(step).time(hardware);
}

StepDifference difference_of(const StepPair& pair, const std::map<std::string, Measured>& all,
                             const Hardware& hardware) {
  StepDifference d;
  d.pair = pair;
  const auto from = all.find(pair.from), to = all.find(pair.to);
  // A pair whose step is unknown or unmapped is listed with the reason and does not count.
  for (const auto& [end, id] : {std::pair{from, pair.from}, std::pair{to, pair.to}})
    if (end == all.end())
      d.missing = fmt::format("unknown step '{}'", id);
    else if (end->second.scenario.empty())
      d.missing = end->second.missing;
  if (!d.missing.empty()) return d;
  // Above 1: `to` is faster.
  d.measured = pair.ratio > 0 ? pair.ratio : from->second.time / to->second.time;
  try {
    d.forecast = forecast_of(pair.from, from->second, pair.from_change, hardware) /
                 forecast_of(pair.to, to->second, pair.to_change, hardware);
  } catch (const UserError& error) { d.missing = error.diagnostics().front().message; }
  return d;
}

}  // namespace

std::string shipped_step_pairs_path() { return shipped_data_path("step_pairs.json"); }

std::vector<StepPair> read_step_pairs(const std::string& path) {
  const auto fail = [&](std::string what) {
    throw UserError({Diagnostic{Diagnostic::Severity::error, {path, 1, 1, 1}, {}, std::move(what), {}}});
  };
  const json all = parse_json_text(read_file(path), path);
  if (!all.is_array()) fail("must be a list of pairs");
  std::vector<StepPair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) try {
      pairs.push_back(pair_of(all[i]));
    } catch (const std::exception& e) { fail(fmt::format("pair {}: {}", i, e.what())); }
  return pairs;
}

bool StepDifference::keeps_sign() const {
  const double m = std::log(measured), f = std::log(forecast);
  // A measured difference below 1 % is within the variation of runs, so its sign means nothing.
  return m * f > 0 || (std::abs(m) < least_difference && std::abs(f) < least_difference);
}

bool StepDifference::keeps_size() const {
  const double m = std::log(measured), f = std::log(forecast);
  if (std::abs(m) < least_difference) return std::abs(f) < least_difference;
  // Compared as logarithms: 1.10 measured and 1.20 forecast is nearly twice the effect.
  return f / m >= 2.0 / 3 && f / m <= 1.5;
}

std::vector<StepDifference> step_differences(const std::vector<StepPair>& pairs, const std::vector<StepCase>& steps,
                                             const std::vector<MappedRow>& rows, const Hardware& hardware,
                                             const std::function<void(double)>& progress) {
  const std::map<std::string, Measured> all = measured_of(steps, rows);
  std::vector<StepDifference> differences(pairs.size());
  TaskProgress tasks(progress, pairs.size());
  in_parallel(pairs.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    differences[i] = difference_of(pairs[i], all, hardware);
    tasks.one_done();
  });
  return differences;
}

std::vector<DifferenceSummary> summarize_differences(const std::vector<StepDifference>& differences) {
  std::vector<DifferenceSummary> list;
  for (const StepDifference& d : differences) {
    if (!d.missing.empty()) continue;
    auto it = std::find_if(list.begin(), list.end(), [&](const auto& s) { return s.kind == d.pair.kind; });
    if (it == list.end()) it = list.insert(it, {d.pair.kind});
    ++it->pairs;
    it->sign += d.keeps_sign();
    it->size += d.keeps_size();
  }
  return list;
}

std::string differences_text(const std::vector<StepDifference>& differences) {
  std::string out = "                                              difference   measured   forecast  sign  size\n";
  for (const StepDifference& d : differences)
    out += d.missing.empty() ? fmt::format("{:>56} {:>10.3f} {:>10.3f} {:>5} {:>5}\n", d.pair.id, d.measured,
                                           d.forecast, d.keeps_sign() ? "yes" : "no", d.keeps_size() ? "yes" : "no")
                             : fmt::format("{:>56}  {}\n", d.pair.id, d.missing);
  out += "\n                                                    kind  pairs   sign   size\n";
  for (const DifferenceSummary& s : summarize_differences(differences))
    out += fmt::format("{:>56} {:>6} {:>6} {:>6}\n", s.kind, s.pairs, s.sign, s.size);
  return out;
}

std::string differences_markdown(const std::vector<StepDifference>& differences) {
  std::string out =
      "\n## Differences\n\n"
      "Pairs of steps that differ in one thing, from `calibrate/data/step_pairs.json`. The ratio is the time of the "
      "first step divided\n"
      "by that of the second.\n\n"
      "- sign kept: the forecast has the same step faster\n"
      "- size kept: the logarithm of the forecast ratio is between 2/3 and 3/2 of that of the measured ratio\n\n"
      "A measured difference of less than 1 % counts as kept if the forecast difference is also less than 1 %.\n\n"
      "| what differs | pairs | sign kept | size kept |\n|---|---:|---:|---:|\n";
  for (const DifferenceSummary& s : summarize_differences(differences))
    out += fmt::format("| {} | {} | {} | {} |\n", s.kind, s.pairs, s.sign, s.size);
  out += "\n| pair | from | to | measured | forecast | sign | size |\n|---|---|---|---:|---:|---|---|\n";
  for (const StepDifference& d : differences) {
    const std::string ends = fmt::format("| {} | {} | {} |", d.pair.id, d.pair.from, d.pair.to);
    out += d.missing.empty() ? fmt::format("{} {:.3f} | {:.3f} | {} | {} |\n", ends, d.measured, d.forecast,
                                           d.keeps_sign() ? "kept" : "not", d.keeps_size() ? "kept" : "not")
                             : fmt::format("{} | | {} | |\n", ends, d.missing);
  }
  return out;
}

}  // namespace fabricast
