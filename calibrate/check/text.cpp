// Reports of `check` as text and JSON.
//
// The text answers first (healthy or not, and the likeliest cause), then says where, and then shows the rows and causes
// that the answer rests on. JSON holds the same without a limit on causes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/hardware/size_bands.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

/// Causes below this probability are not listed in text.
constexpr double least_probability = 0.01;

/// `no_gdr`, or `no_gdr+slow_nic` for two causes at once.
std::string word_of(const Suspect& s) {
  return std::string(name_of(s.cause)) + (s.with ? "+" + std::string(name_of(*s.with)) : "");
}

std::string summary_of(const Suspect& s) {
  return std::string(kind_of(s.cause).summary) + (s.with ? ", and " + std::string(kind_of(*s.with).summary) : "");
}

std::string confirm_of(const Suspect& s) {
  return std::string(kind_of(s.cause).confirm) + (s.with ? "; " + std::string(kind_of(*s.with).confirm) : "");
}

/// Wrong results come before anything about time: a setting that is merely slow does not cause them.
std::string wrong_text(const std::vector<WrongRow>& wrong) {
  std::int64_t results = 0;
  for (const WrongRow& row : wrong) results += row.results;
  std::string out = fmt::format("not healthy: {} wrong results, at {} of the sizes: data are damaged in transit\n",
                                results, wrong.size());
  for (const WrongRow& row : wrong)
    out += fmt::format("  {} of {} B: {} wrong\n", name_of(row.op), row.bytes, row.results);
  return out +
         "  to find where: dcgmi diag -r 3 on every host; ECC and Xid errors in dmesg; run the test on pairs of "
         "hosts\n";
}

/// How slow the rows are, and where most.
std::string off_text(const CheckReport& report) {
  std::string out = fmt::format("measured times are {:.2f} times the forecast", report.off);
  // Smaller differences are those of single rows.
  constexpr double stands_out = 1.1;
  if (const auto& slow = report.slowest; slow && slow->off >= stands_out * report.off)
    out += fmt::format(", {:.2f} times for {} of {}", slow->off, name_of(slow->op), bands[slow->band].name);
  return out;
}

/// The causes that no lead separates from the likeliest one.
std::string candidates_text(const CheckReport& report) {
  constexpr std::size_t most = 5;
  std::string out;
  std::size_t listed = 0;
  double first = 0;
  for (const Suspect& s : report.suspects) {
    if (s.cause == Cause::healthy) continue;
    if (listed == 0) first = s.probability;
    if (listed == most || s.probability * CheckReport::clear_lead < first) break;
    out += fmt::format("{}{} {:.0f} %", listed == 0 ? "" : ", ", word_of(s), 100 * s.probability);
    ++listed;
  }
  return out;
}

/// The answer if the times are slow.
std::string slow_answer(const CheckReport& report) {
  const Suspect* named = report.named();
  std::string cause;
  if (!named)
    cause = "no clear cause: " + candidates_text(report);
  else if (named->cause == Cause::none_of_these)
    cause = "the cause is unknown: no known cause explains these times";
  else
    cause = "most likely cause: " + summary_of(*named);
  if (!report.within_samples()) return fmt::format("not healthy: {}; {}\n", off_text(report), cause);
  return fmt::format(
      "slower than the median launch, but within the variation of the ECMP hash from launch to launch: {}\n"
      "  launch again, several times; if times stay as slow: {}\n",
      off_text(report), cause);
}

std::string answer(const CheckReport& report) {
  if (!report.wrong.empty()) return wrong_text(report.wrong);
  if (report.suspects.empty())
    return report.healthy() ? "no measured times: telemetry shows no rank at fault\n"
                            : "not healthy: telemetry shows ranks at fault\n";
  const Suspect& first = report.suspects.front();
  if (report.healthy())
    return fmt::format("healthy: as fast as the hardware should be; measured times are {:.2f} times the forecast\n",
                       report.off);
  // The median over runs is healthy, but a rank or a place stands out (CheckReport::healthy).
  if (first.cause == Cause::healthy && report.places.empty())
    return fmt::format("not healthy: ranks are at fault; measured times are {:.2f} times the forecast\n", report.off);
  if (first.cause == Cause::healthy)
    return fmt::format(
        "not healthy: some runs of a test take longer than others; on average {:.2f} times the forecast\n", report.off);
  return slow_answer(report);
}

/// Two causes at once put the simulated symptoms on a second line.
std::string cause_line(const Suspect& s) {
  const std::string after = (s.leaves_too_much ? "  (leaves too much unexplained)" : "") +
                            (confirm_of(s).empty() ? std::string() : "  " + confirm_of(s));
  if (!s.with)
    return fmt::format("{:>4.0f} %  {:<18} {:<45} {:>7.2f}{}\n", 100 * s.probability, word_of(s), s.symptom.what, s.off,
                       after);
  return fmt::format("{:>4.0f} %  {}\n{:>26}{:<45} {:>7.2f}{}\n", 100 * s.probability, word_of(s), "", s.symptom.what,
                     s.off, after);
}

/// Hosts, NICs or logs that stand out among runs of one test.
std::string places_text(const std::vector<SlowPlace>& places) {
  std::string out;
  // Names come from logs, so `shown` makes them printable and limits their length.
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, places.size()); ++i)
    out += fmt::format("  {} {}: runs with it take {:.2f} times as long ({} with it, {} without)\n", places[i].kind,
                       shown(places[i].name, 80), places[i].ratio, places[i].with, places[i].without);
  return out.empty() ? out : "slow places:\n" + out;
}

}  // namespace

std::string check_text(const Scenario& scenario, const CheckReport& report) {
  std::string out = heading_line(scenario.name);
  out += answer(report);
  out += places_text(report.places);
  if (const std::string behind = behind_text(report.behind); !behind.empty()) out += "ranks behind:\n" + behind;
  if (report.suspects.empty()) return out;
  out +=
      "\n#      collective         size    measured    forecast  90 % of sites      busbw  verdict\n"
      "#                         (B)        (us)        (us)           (us)     (GB/s)\n";
  for (const CheckedRow& r : report.rows)
    out += fmt::format("  {:>15} {:>12} {:>11.2f} {:>11.2f}  {:>7.4g}-{:<7.4g} {:>8.2f}  {}\n", name_of(r.op), r.bytes,
                       microseconds(r.measured), microseconds(r.forecast), microseconds(r.low), microseconds(r.high),
                       gigabytes_per_second(r.bus_bandwidth), name_of(r.verdict));
  out += "\nlikely  cause              as simulated                                measured/it  to confirm\n";
  for (const Suspect& s : report.suspects)
    if (s.probability >= least_probability) out += cause_line(s);
  out += regressions_text(report.known);
  if (!report.unseen.empty()) {
    out += "\ncauses that would not show in these rows:";
    for (const Cause c : report.unseen) out += fmt::format(" {}", name_of(c));
    out += "\n";
  }
  return out;
}

std::string check_json(const Scenario& scenario, const CheckReport& report) {
  using Json = nlohmann::ordered_json;
  Json j{{"fabricast", version_text()},
         {"name", scenario.name},
         {"healthy", report.healthy()},
         {"measured_over_forecast", report.off}};
  if (const auto& slow = report.slowest)
    j["slowest_band"] = {
        {"collective", name_of(slow->op)}, {"band", bands[slow->band].name}, {"measured_over_forecast", slow->off}};
  if (!report.suspects.empty() && !report.healthy()) {
    const Suspect* named = report.named();
    j["named_cause"] = named ? Json(word_of(*named)) : Json(nullptr);
    j["within_hash_variation"] = report.within_samples();
  }
  if (!report.known.empty()) j["known_regressions"] = nlohmann::ordered_json::parse(regressions_json(report.known));
  if (!report.behind.empty()) j["behind"] = Json::parse(behind_json(report.behind));
  for (const WrongRow& w : report.wrong)
    j["wrong_results"].push_back({{"collective", name_of(w.op)}, {"bytes", w.bytes}, {"results", w.results}});
  for (const CheckedRow& r : report.rows)
    j["rows"].push_back({{"collective", name_of(r.op)},
                         {"bytes", r.bytes},
                         {"nodes", r.nodes},
                         {"measured_us", microseconds(r.measured)},
                         {"forecast_us", microseconds(r.forecast)},
                         {"low_us", microseconds(r.low)},
                         {"high_us", microseconds(r.high)},
                         {"busbw_gbps", gigabytes_per_second(r.bus_bandwidth)},
                         {"verdict", name_of(r.verdict)}});
  for (const Suspect& s : report.suspects)
    j["causes"].push_back({{"cause", word_of(s)},
                           {"summary", summary_of(s)},
                           {"probability", s.probability},
                           {"simulated", s.symptom.what},
                           {"set", s.symptom.set},
                           {"measured_over_simulated", s.off},
                           {"leaves_too_much", s.leaves_too_much},
                           {"confirm", confirm_of(s)}});
  j["places"] = Json::array();
  for (const SlowPlace& p : report.places)
    j["places"].push_back({{"kind", p.kind},
                           {"name", shown(p.name, 200)},
                           {"ratio", p.ratio},
                           {"runs_with", p.with},
                           {"runs_without", p.without}});
  j["unseen"] = Json::array();
  for (const Cause c : report.unseen) j["unseen"].push_back(name_of(c));
  return j.dump(1) + "\n";
}

std::string impossible_text(const Scenario& scenario, const std::vector<ImpossibleRow>& found) {
  std::string out = heading_line(scenario.name) + "no verdict: measured times are shorter than this hardware allows\n";
  for (const ImpossibleRow& row : found)
    out += fmt::format("  {}{}: {}\n", shown(row.from, 200), row.line > 0 ? fmt::format(":{}", row.line) : "",
                       impossible_text(row));
  return out + fmt::format("  {}\n", impossible_advice(found));
}

std::string impossible_json(const Scenario& scenario, const std::vector<ImpossibleRow>& found) {
  using Json = nlohmann::ordered_json;
  // `null` and not `false`: the cluster was not judged.
  Json j{{"fabricast", version_text()}, {"name", scenario.name}, {"healthy", nullptr}};
  for (const ImpossibleRow& row : found)
    j["impossible"].push_back({{"from", shown(row.from, 200)},
                               {"line", row.line},
                               {"collective", name_of(row.op)},
                               {"bytes", row.bytes},
                               {"ranks", row.ranks},
                               {"measured_us", microseconds(row.measured)},
                               {"least_us", microseconds(row.least.time)},
                               {"limit", row.least.limit}});
  return j.dump(1) + "\n";
}

}  // namespace fabricast
