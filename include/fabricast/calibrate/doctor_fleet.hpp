// Doctor of a fleet: reports of many hosts (`doctor --json`), joined. What most hosts have is taken for right, and the others
// are named: that is a vote and no judgement, so a fault that most hosts have shows among the findings alone.
//
// A report that is damaged, or of another schema, is told and left out. Hosts are compared whatever they are made of: give it
// hosts that are meant to be alike.
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

/// Hosts that have one value of a fact.
struct FleetValue {
  std::string value;  ///< "not told" where a report has none
  std::vector<std::string> hosts;
};

/// A fact on which hosts differ.
struct FleetFact {
  std::string name;
  bool majority = false;           ///< whether more than half have the first value
  std::vector<FleetValue> values;  ///< most hosts first
};

/// A warning or an error, and who has it.
struct FleetFinding {
  std::string check, subject;
  FindingStatus status = FindingStatus::warning;
  std::string found;  ///< of the first host
  std::vector<std::string> hosts;
};

struct FleetReport {
  std::vector<std::string> hosts;
  std::vector<FleetFact> differing;
  std::vector<std::string> alike;      ///< names of facts that all hosts share
  std::vector<FleetFinding> findings;  ///< those of fewest hosts first
  /// In how many respects a host differs from most, or is the only one of few with a finding; the worst first.
  std::vector<std::pair<std::string, std::size_t>> odd_hosts;
  std::vector<Diagnostic> left_out;  ///< damaged files, and those of another schema
};

class Fleet {
 public:
  /// \param file  for messages
  void add(const std::string& file, std::string_view content);
  /// Names a file that can not be read.
  void leave_out(const std::string& file, const std::string& reason);
  FleetReport report() const;

 private:
  std::vector<std::string> hosts_;
  std::vector<std::map<std::string, std::string>> facts_;  // by host
  std::map<std::tuple<std::string, std::string, std::string>, FleetFinding> findings_;
  std::set<std::string> names_;
  std::vector<Diagnostic> left_out_;
};

std::string fleet_text(const FleetReport& report, std::string_view version);
std::string fleet_json(const FleetReport& report, std::string_view version);

}  // namespace fabricast
