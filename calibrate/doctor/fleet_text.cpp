// The comparison of a fleet as text and JSON.
//
// Text names at most 16 hosts in a list; JSON names all.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/doctor_fleet.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

/// "3 hosts: n7 n9 n12".
std::string named(const std::vector<std::string>& hosts) {
  constexpr std::size_t most = 16;
  std::string text = counted(hosts.size(), "host") + ":";
  for (std::size_t i = 0; i < std::min(most, hosts.size()); ++i) text += " " + hosts[i];
  if (hosts.size() > most) text += fmt::format(" and {} more", hosts.size() - most);
  return text;
}

}  // namespace

std::string fleet_text(const FleetReport& report, std::string_view version) {
  const auto everywhere = [&](const FleetFinding& f) { return f.hosts.size() == report.hosts.size(); };
  const auto on_all =
      static_cast<std::size_t>(std::count_if(report.findings.begin(), report.findings.end(), everywhere));
  std::string out = fmt::format("# fabricast {}   doctor: {}\n", version, counted(report.hosts.size(), "host"));
  out += fmt::format("# {} of {} facts differ, {} findings on some hosts, {} on all; {} files left out\n",
                     report.differing.size(), report.differing.size() + report.alike.size(),
                     report.findings.size() - on_all, on_all, report.left_out.size());
  if (!report.odd_hosts.empty()) {
    constexpr std::size_t most = 16;
    out += "# hosts that differ most:";
    for (std::size_t i = 0; i < std::min(most, report.odd_hosts.size()); ++i)
      out += fmt::format(" {} ({})", report.odd_hosts[i].first, report.odd_hosts[i].second);
    if (report.odd_hosts.size() > most) out += fmt::format(" and {} more", report.odd_hosts.size() - most);
    out += "\n";
  }
  for (const FleetFact& fact : report.differing) {
    out += fmt::format("\ndiffers: {}{}\n", fact.name, fact.majority ? "" : " (no value has a majority)");
    for (std::size_t v = 0; v < fact.values.size(); ++v) {
      const FleetValue& value = fact.values[v];
      // The hosts of the majority are counted and not named: the others are of interest.
      out += fmt::format("  {}: {}\n", value.value,
                         v == 0 && fact.majority ? counted(value.hosts.size(), "host") : named(value.hosts));
    }
  }
  for (const FleetFinding& f : report.findings)
    out += fmt::format("\n{}: {}, {}\n  {}\n  {}\n", name_of(f.status), f.check, f.subject, f.found,
                       everywhere(f) && report.hosts.size() > 1 ? "all hosts" : named(f.hosts));
  return out;
}

std::string fleet_json(const FleetReport& report, std::string_view version) {
  using Json = nlohmann::ordered_json;
  Json differing = Json::array(), findings = Json::array(), odd = Json::array(), left_out = Json::array();
  for (const FleetFact& fact : report.differing) {
    Json values = Json::array();
    for (const FleetValue& v : fact.values) values.push_back({{"value", v.value}, {"hosts", v.hosts}});
    differing.push_back({{"fact", fact.name}, {"majority", fact.majority}, {"values", values}});
  }
  for (const FleetFinding& f : report.findings)
    findings.push_back({{"check", f.check},
                        {"status", name_of(f.status)},
                        {"subject", f.subject},
                        {"found", f.found},
                        {"hosts", f.hosts}});
  for (const auto& [host, count] : report.odd_hosts) odd.push_back({{"host", host}, {"count", count}});
  for (const Diagnostic& d : report.left_out)
    left_out.push_back(
        {{"file", d.where.file}, {"line", d.where.line}, {"column", d.where.column}, {"message", d.message}});
  const Json json{{"fabricast", version},  {"hosts", report.hosts}, {"odd_hosts", odd},    {"differing", differing},
                  {"alike", report.alike}, {"findings", findings},  {"left_out", left_out}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fabricast
