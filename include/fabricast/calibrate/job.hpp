// What telemetry tells about the communicators of a running job, apart from times (docs/calibrate/live.md).
//
// Ranks are those of the communicator where the tool states them (NCCL Inspector, profiler plugin, RAS), and global
// ranks of the job where it states those (PyTorch). What a tool does not state is empty or -1.
//
// Plain values and pure functions; safe to use concurrently.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fabricast {

/// A rank that is not where the others of its communicator are.
struct BehindRank {
  int rank = -1;      ///< -1: not stated
  std::string place;  ///< host, process, file: what the tool states
  /// missing: no data from it, or its process is gone; waited_for: others are in a call that it has not launched;
  /// late: usually the last to arrive; other_call: it launched another collective than the others; error: NCCL reports
  /// an error of it
  std::string what;
  std::string detail;  ///< for people: counts, time
  /// Whether that is a fault. A rank that has launched fewer calls in a snapshot may just be a moment behind, unless a
  /// call of the others has timed out.
  bool certain = true;
  bool operator==(const BehindRank&) const = default;
};

/// A communicator (process group) of a job.
struct JobCommunicator {
  std::string id;          ///< the tool's hash or name; unique within the job
  std::string name;        ///< as the application named it; empty: not stated
  int ranks = 0;           ///< 0: not stated
  int nodes = 0;           ///< 0: not stated
  int seen = 0;            ///< ranks with data
  std::int64_t calls = 0;  ///< calls that all of its ranks recorded
  std::int64_t part = 0;   ///< calls that only some of its ranks recorded
  std::vector<BehindRank> behind;
};

/// A job, from all files of one command that one tool wrote.
struct JobFacts {
  std::string tool;                            ///< empty: no telemetry
  std::vector<JobCommunicator> communicators;  ///< largest first, then by id; the first 10,000
  std::int64_t communicators_left_out = 0;
  std::int64_t records = 0;                      ///< collectives, one per rank and call
  std::map<std::string, std::int64_t> left_out;  ///< number of records that gave no time, by reason
};

/// Whether some rank is certainly at fault.
bool any_at_fault(const std::vector<JobCommunicator>& communicators);
/// The ranks that are behind, for people, a line for each communicator and each rank; empty if there are none. Long
/// lists are cut and counted.
std::string behind_text(const std::vector<JobCommunicator>& communicators);
/// The same as a JSON list (docs/formats.md), whole.
std::string behind_json(const std::vector<JobCommunicator>& communicators);

}  // namespace fabricast
