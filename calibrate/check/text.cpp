#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

/// Likelier than this: worth a line.
constexpr double least_probability = 0.01;

const CauseKind& kind_of(Cause cause) { return cause_kinds()[static_cast<std::size_t>(cause)]; }

/// Wrong results come before all else: no setting that is only slow gives them.
std::string wrong_text(const std::vector<WrongRow>& wrong) {
  std::int64_t results = 0;
  for (const WrongRow& row : wrong) results += row.results;
  std::string out = fmt::format("not healthy: {} wrong results, at {} of the sizes: data are damaged on their way\n",
                                results, wrong.size());
  for (const WrongRow& row : wrong)
    out += fmt::format("  {} of {} B: {} wrong\n", name_of(row.op), row.bytes, row.results);
  return out +
         "  to find where: dcgmi diag -r 3 on every host; ECC and Xid errors in dmesg; the same test on pairs of "
         "hosts\n";
}

std::string answer(const CheckReport& report) {
  const Suspect& first = report.suspects.front();
  if (!report.wrong.empty()) return wrong_text(report.wrong);
  if (report.healthy())
    return fmt::format("healthy: as fast as the hardware should be; measured times are {:.2f} of the forecast\n",
                       report.off);
  return fmt::format("not healthy: measured times are {:.2f} of the forecast; likeliest cause: {}\n", report.off,
                     kind_of(first.cause).summary);
}

}  // namespace

std::string check_text(const Scenario& scenario, const CheckReport& report) {
  std::string out = fmt::format("# fabricast {}   {}\n", version_text(), scenario.name);
  out += answer(report);
  out +=
      "\n#      collective         size    measured    forecast  90 % of sites      busbw  verdict\n"
      "#                         (B)        (us)        (us)           (us)     (GB/s)\n";
  for (const CheckedRow& r : report.rows)
    out += fmt::format("  {:>15} {:>12} {:>11.2f} {:>11.2f}  {:>7.4g}-{:<7.4g} {:>8.2f}  {}\n", name_of(r.op), r.bytes,
                       r.measured * 1e6, r.forecast * 1e6, r.low * 1e6, r.high * 1e6, r.bus_bandwidth * 1e-9,
                       name_of(r.verdict));
  out += "\nlikely  cause              as simulated                                measured/it  to confirm\n";
  for (const Suspect& s : report.suspects)
    if (s.probability >= least_probability)
      out += fmt::format("{:>4.0f} %  {:<18} {:<45} {:>7.2f}  {}\n", 100 * s.probability, name_of(s.cause),
                         s.symptom.what, s.off, kind_of(s.cause).confirm);
  out += regressions_text(report.known);
  if (!report.unseen.empty()) {
    out += "\nwould not show in these rows:";
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
  if (!report.known.empty()) j["known_regressions"] = nlohmann::ordered_json::parse(regressions_json(report.known));
  for (const WrongRow& w : report.wrong)
    j["wrong_results"].push_back({{"collective", name_of(w.op)}, {"bytes", w.bytes}, {"results", w.results}});
  for (const CheckedRow& r : report.rows)
    j["rows"].push_back({{"collective", name_of(r.op)},
                         {"bytes", r.bytes},
                         {"measured_us", r.measured * 1e6},
                         {"forecast_us", r.forecast * 1e6},
                         {"low_us", r.low * 1e6},
                         {"high_us", r.high * 1e6},
                         {"busbw_gbps", r.bus_bandwidth * 1e-9},
                         {"verdict", name_of(r.verdict)}});
  for (const Suspect& s : report.suspects)
    j["causes"].push_back({{"cause", name_of(s.cause)},
                           {"summary", kind_of(s.cause).summary},
                           {"probability", s.probability},
                           {"simulated", s.symptom.what},
                           {"set", s.symptom.set},
                           {"measured_over_simulated", s.off},
                           {"confirm", kind_of(s.cause).confirm}});
  j["unseen"] = Json::array();
  for (const Cause c : report.unseen) j["unseen"].push_back(name_of(c));
  return j.dump(1) + "\n";
}

}  // namespace fabricast
