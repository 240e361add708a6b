// Reads and compares reports of a fleet. Reports come from other hosts, so every text is bounded and made printable.
//
// No expectation is built in: what most hosts have counts as usual. A fault that all hosts share is thus no difference,
// but shows as a finding on all hosts.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fabricast/calibrate/doctor_fleet.hpp"
#include "fabricast/core/scan.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::json;

constexpr std::size_t most_text = 400;

Diagnostic left_out(const std::string& file, std::string_view text, std::size_t byte, std::string message) {
  Diagnostic d;
  d.severity = Diagnostic::Severity::warning;
  d.where = span_at(file, text, byte);
  d.message = std::move(message);
  d.hint = "write the report again: fabricast doctor --json FILE";
  return d;
}

std::string text_of(const Json& json, const char* key) { return shown(json.at(key).get<std::string>(), most_text); }

/// Compares each fact over the hosts, and counts the hosts that differ from a majority.
void compare(const std::vector<std::string>& hosts, const std::vector<std::map<std::string, std::string>>& facts,
             FleetReport& report, std::map<std::string, std::size_t>& odd) {
  std::set<std::string> names;
  for (const auto& of_host : facts)
    for (const auto& [name, value] : of_host) names.insert(name);
  for (const std::string& name : names) {
    std::map<std::string, std::vector<std::string>> by_value;
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      const auto it = facts[h].find(name);
      // A host that does not report a fact differs from those that do, for example because its user may not read a
      // file.
      by_value[it == facts[h].end() ? "not reported" : it->second].push_back(hosts[h]);
    }
    if (by_value.size() == 1) {
      report.alike.push_back(name);
      continue;
    }
    FleetFact fact{name, false, {}};
    for (auto& [value, who] : by_value) fact.values.push_back({value, std::move(who)});
    std::stable_sort(fact.values.begin(), fact.values.end(),
                     [](const FleetValue& a, const FleetValue& b) { return a.hosts.size() > b.hosts.size(); });
    // Without a majority no host is odd: two kinds of hosts may be in the folder.
    fact.majority = 2 * fact.values.front().hosts.size() > hosts.size();
    if (fact.majority)
      for (std::size_t v = 1; v < fact.values.size(); ++v)
        for (const std::string& host : fact.values[v].hosts) ++odd[host];
    report.differing.push_back(std::move(fact));
  }
}

}  // namespace

void Fleet::add(const std::string& file, std::string_view content) {
  Json json;
  try {
    json = Json::parse(content);
  } catch (const Json::out_of_range&) {
    // A valid document whose number has no representation. All other faults of the text are parse errors with a
    // position.
    left_out_.push_back(left_out(file, content, 0, "a number is too large; the file is left out"));
    return;
  } catch (const Json::parse_error& e) {
    left_out_.push_back(
        left_out(file, content, e.byte > 0 ? e.byte - 1 : 0, "invalid JSON from here on; the file is left out"));
    return;
  }
  const auto fault = [&](std::string message) { left_out_.push_back(left_out(file, content, 0, std::move(message))); };
  if (!json.is_object() || !json.contains("fabricast") || !json.contains("findings"))
    return fault("this is not a report of `fabricast doctor --json`; the file is left out");
  const Json schema = json.value("schema", Json(0));
  // Another schema may use the same names with other meanings.
  if (schema != doctor_schema)
    return fault(fmt::format("the report has schema {}, but this fabricast reads schema {}; the file is left out",
                             schema.is_number_integer() ? shown(schema.dump(), 20) : "?", doctor_schema));
  try {
    std::string host = text_of(json, "host");
    if (host.empty()) host = shown(file, most_text);
    // Host names may be equal, for example in containers.
    if (names_.contains(host)) host += " (" + shown(file, most_text) + ")";
    std::map<std::string, std::string> facts;
    for (const auto& [name, value] : json.at("facts").items())
      facts[shown(name, 60)] = shown(value.get<std::string>(), most_text);
    std::vector<FleetFinding> findings;
    for (const Json& f : json.at("findings")) {
      const std::string status = f.at("status");
      // Notes and unknowns are expected on many hosts and would hide the rest.
      if (status != "warning" && status != "error") continue;
      findings.push_back({text_of(f, "check"),
                          text_of(f, "subject"),
                          status == "error" ? FindingStatus::error : FindingStatus::warning,
                          text_of(f, "found"),
                          {}});
    }
    for (FleetFinding& f : findings) {
      // Text of the finding may hold counts that differ by host, so it is not part of the key. The first host's text is
      // shown.
      FleetFinding& all = findings_.try_emplace({f.check, f.subject, std::string(name_of(f.status))}, f).first->second;
      // A host may have two findings of one check and status on one subject.
      if (all.hosts.empty() || all.hosts.back() != host) all.hosts.push_back(host);
    }
    names_.insert(host);
    hosts_.push_back(host);
    facts_.push_back(std::move(facts));
  } catch (const Json::exception&) {
    fault("a field of the report is missing or has the wrong type; the file is left out");
  }
}

void Fleet::leave_out(const std::string& file, const std::string& reason) {
  Diagnostic d;
  d.severity = Diagnostic::Severity::warning;
  d.where.file = file;
  d.message = reason;
  left_out_.push_back(d);
}

FleetReport Fleet::report() const {
  FleetReport report;
  report.hosts = hosts_;
  report.left_out = left_out_;
  std::map<std::string, std::size_t> odd;
  compare(hosts_, facts_, report, odd);
  for (const auto& [key, finding] : findings_) {
    report.findings.push_back(finding);
    // A finding on half of the hosts or more is a property of the fleet.
    if (2 * finding.hosts.size() < hosts_.size())
      for (const std::string& host : finding.hosts) ++odd[host];
  }
  std::stable_sort(report.findings.begin(), report.findings.end(), [](const FleetFinding& a, const FleetFinding& b) {
    // The rarest findings first: they name the odd hosts.
    return a.hosts.size() != b.hosts.size() ? a.hosts.size() < b.hosts.size() : a.status > b.status;
  });
  report.odd_hosts.assign(odd.begin(), odd.end());
  std::stable_sort(report.odd_hosts.begin(), report.odd_hosts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return report;
}

}  // namespace fabricast
