// The report as text and JSON.
//
// Findings of one check that differ only in the device are shown once with their devices: a wrong setting affects all
// eight NICs of a host alike. JSON lists every finding.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/doctor.hpp"

namespace fabricast {

namespace {

/// Findings of one check with the same expectation and reason, which text shows together.
struct Group {
  const Finding* first = nullptr;
  std::vector<const Finding*> members;
};

std::vector<Group> groups_of(const DoctorReport& report, FindingStatus status) {
  std::vector<Group> groups;
  for (const Finding& f : report.findings) {
    if (f.status != status) continue;
    const auto it = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.first->check == f.check && g.first->expected == f.expected && g.first->why == f.why;
    });
    if (it != groups.end())
      it->members.push_back(&f);
    else
      groups.push_back({&f, {&f}});
  }
  return groups;
}

std::string counted_findings(std::size_t n, std::string_view word) {
  const bool plural = n != 1 && (word == "error" || word == "warning" || word == "note");
  return fmt::format("{} {}{}", n, word, plural ? "s" : "");
}

std::string group_text(const Group& group) {
  constexpr std::size_t most = 8;
  const Finding& f = *group.first;
  std::string out = fmt::format("\n{}: {}\n", name_of(f.status), f.check);
  for (std::size_t i = 0; i < std::min(most, group.members.size()); ++i)
    out += fmt::format("  {}: {}\n", group.members[i]->subject, group.members[i]->found);
  if (group.members.size() > most) out += fmt::format("  and {} more\n", group.members.size() - most);
  // Fixes may name the device. If they differ, the first is shown as an example.
  const bool alike =
      std::all_of(group.members.begin(), group.members.end(), [&](const Finding* m) { return m->fix == f.fix; });
  for (const auto& [name, text] : {std::pair("expected", f.expected),
                                   {"why", f.why},
                                   {alike ? "fix" : "fix (for the first)", f.fix},
                                   {"source", f.source}})
    if (!text.empty()) out += fmt::format("    {}: {}\n", name, text);
  return out;
}

constexpr std::array worst_first = {FindingStatus::error, FindingStatus::warning, FindingStatus::unknown,
                                    FindingStatus::note};

}  // namespace

std::string doctor_text(const DoctorReport& report, std::string_view version) {
  std::string out =
      fmt::format("# fabricast {}   doctor: host {}, kernel {}\n", version,
                  report.host.empty() ? "unknown" : report.host, report.kernel.empty() ? "unknown" : report.kernel);
  if (report.root != "/") out += fmt::format("# files below {}\n", report.root);
  out += "#";
  for (const FindingStatus s : worst_first)
    out += fmt::format("{} {}", s == worst_first.front() ? "" : ",", counted_findings(report.count(s), name_of(s)));
  out += fmt::format(", {} ok\n", report.count(FindingStatus::ok));
  if (!report.pairs.empty()) {
    out += "#\n# NIC nearest to each GPU\n";
    for (const DoctorPair& p : report.pairs) {
      const auto gpu =
          std::find_if(report.gpus.begin(), report.gpus.end(), [&](const auto& g) { return g.name == p.gpu; });
      out += fmt::format("#   {:<6} {}  {:<12} {}\n", p.gpu, gpu->address, p.nic, name_of(p.distance));
    }
  }
  for (const FindingStatus s : worst_first)
    for (const Group& g : groups_of(report, s)) out += group_text(g);
  std::string fine;
  for (const DoctorCheck& check : doctor_checks()) {
    const auto n = std::count_if(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
      return f.check == check.name && f.status == FindingStatus::ok;
    });
    if (n > 0) fine += fmt::format(" {} {},", check.name, n);
  }
  if (!fine.empty()) out += "\nok:" + fine.substr(0, fine.size() - 1) + "\n";
  return out;
}

std::string doctor_json(const DoctorReport& report, std::string_view version) {
  using Json = nlohmann::ordered_json;
  Json gpus = Json::array(), nics = Json::array(), pairs = Json::array(), findings = Json::array();
  Json facts = Json::object();
  for (const auto& [name, value] : report.facts) facts[name] = value;
  for (const DoctorGpu& g : report.gpus)
    gpus.push_back({{"name", g.name}, {"address", g.address}, {"id", g.id}, {"numa", g.numa}});
  for (const DoctorNic& n : report.nics)
    nics.push_back({{"name", n.name},
                    {"address", n.address},
                    {"id", n.id},
                    {"driver", n.driver},
                    {"firmware", n.firmware},
                    {"numa", n.numa}});
  for (const DoctorPair& p : report.pairs)
    pairs.push_back({{"gpu", p.gpu}, {"nic", p.nic}, {"distance", name_of(p.distance)}});
  for (const Finding& f : report.findings)
    findings.push_back({{"check", f.check},
                        {"status", name_of(f.status)},
                        {"subject", f.subject},
                        {"found", f.found},
                        {"expected", f.expected},
                        {"why", f.why},
                        {"fix", f.fix},
                        {"source", f.source}});
  const Json json{{"fabricast", version}, {"schema", doctor_schema},
                  {"host", report.host},  {"kernel", report.kernel},
                  {"root", report.root},  {"worst", name_of(report.worst())},
                  {"facts", facts},       {"gpus", gpus},
                  {"nics", nics},         {"pairs", pairs},
                  {"findings", findings}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fabricast
