// `fabricast doctor --fleet`: compares the JSON reports of many hosts (doctor.hpp) and names the odd ones.
//
// For each fact, the value of more than half of the hosts counts as normal, and hosts that differ are named. This is a
// majority vote: the majority may be wrong. A fault that most hosts have shows only in their findings. A missing fact
// counts as a value of its own, "not reported".
//
// Damaged reports and reports of another schema are listed and left out. All hosts are compared with each other,
// whatever their hardware: pass reports of hosts that should be alike. Without a majority, as with two kinds of hosts
// in equal numbers, no host is odd.
//
//   Fleet fleet;
//   for (const std::string& file : files) fleet.add(file, read_file(file));
//   std::cout << fleet_text(fleet.report(), version);
//
// Reports come from other hosts, so every text is cut to 400 bytes and made printable before it is kept.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fabricast/calibrate/doctor.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

/// Hosts that share a value of a fact.
struct FleetValue {
  std::string value;  ///< "not reported" for hosts without the fact
  std::vector<std::string> hosts;
};

/// A fact on which hosts differ.
struct FleetFact {
  std::string name;                ///< as in the facts of a report
  bool majority = false;           ///< whether more than half of the hosts have the first value
  std::vector<FleetValue> values;  ///< most hosts first
};

/// A warning or an error, with the hosts that have it.
struct FleetFinding {
  std::string check, subject;  ///< which check, and what it looked at, such as a NIC
  FindingStatus status = FindingStatus::warning;
  std::string found;  ///< as reported by the first of the hosts
  std::vector<std::string> hosts;
};

/// What the comparison found.
struct FleetReport {
  std::vector<std::string> hosts;      ///< in the order of their reports
  std::vector<FleetFact> differing;    ///< by name
  std::vector<std::string> alike;      ///< names of facts that are equal on all hosts
  std::vector<FleetFinding> findings;  ///< those of the fewest hosts first
  /// Hosts with the number of their oddities, the oddest first. An oddity is a fact that differs from the majority's,
  /// or a finding that fewer than half of the hosts have.
  std::vector<std::pair<std::string, std::size_t>> odd_hosts;
  std::vector<Diagnostic> left_out;  ///< one warning per file that was left out
};

/// Collects reports. Not safe for concurrent use.
class Fleet {
 public:
  /// Adds a report. A report that cannot be used is noted in `left_out`; nothing is thrown. If the host's name is
  /// taken, the file name is appended.
  /// \param file     name of the file, for messages
  /// \param content  JSON that `doctor --json` wrote
  void add(const std::string& file, std::string_view content);
  /// Notes a file that cannot be read.
  void leave_out(const std::string& file, const std::string& reason);
  /// Compares the reports so far. O(hosts x facts); further reports may be added afterwards.
  FleetReport report() const;

 private:
  std::vector<std::string> hosts_;
  std::vector<std::map<std::string, std::string>> facts_;  // by host
  std::map<std::tuple<std::string, std::string, std::string>, FleetFinding> findings_;
  std::set<std::string> names_;
  std::vector<Diagnostic> left_out_;
};

/// The report as text. Long lists of hosts are cut.
/// \param version  of Fabricast, for the heading
std::string fleet_text(const FleetReport& report, std::string_view version);
/// The report as JSON, with all names.
std::string fleet_json(const FleetReport& report, std::string_view version);

}  // namespace fabricast
