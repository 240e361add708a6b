// Messages between ranks, one line of JSON each. The `*_text` functions write them and the `read_*` functions parse and
// check them, because a stranger may have sent them. Ranks of one session have the same version, so there is no
// compatibility between versions.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fabricast/calibrate/probe_session.hpp"

namespace fabricast {

/// A rank as the others know it.
struct Member {
  std::string host;     ///< name of its host
  std::string address;  ///< where it listens for other ranks
  int port = 0;
  std::string provenance;              ///< JSON; on rank 0 only
  std::vector<BackendFacts> backends;  ///< on rank 0 only
};

/// The first message of a rank to rank 0.
std::string hello_text(const SessionOptions& options, const Member& self);

/// A rank that connected, or why it is refused.
struct Hello {
  std::string refused;  ///< empty: it is accepted
  int rank = 0;
  Member member;
};
/// Never throws: anything malformed is refused.
/// \param here  ranks that have already joined
Hello read_hello(const std::string& text, const SessionOptions& options, const std::set<int>& here);

/// The answer of rank 0 to a hello message, sent when all ranks have joined or when this rank is refused.
struct Roster {
  std::string refused;          ///< why this rank is refused; empty: it is accepted
  std::string pass;             ///< secret that every rank requires of connections
  std::vector<Member> members;  ///< only host, address and port
};
std::string roster_text(const Roster& roster);
/// \throws ProbeFailure if the text is malformed
Roster read_roster(const std::string& text);

/// Rank 0 tells ranks what to measure, or that the session ends.
struct Order {
  bool ends = false;
  std::string reason;  ///< why it ends; empty: all measurements are done
  Measurement measurement;
  int number = 0;  ///< of the measurement in the plan
  Seconds share;   ///< of the budget
};
std::string order_text(const Order& order);
/// \param ranks  number of ranks in the session
/// \throws ProbeFailure if the text is malformed or a value is out of range
Order read_order(const std::string& text, int ranks);

/// The result of a rank. Only the leader of the measurement has samples.
struct RankReport {
  std::vector<Seconds> samples;
  std::string error, how;
};
std::string report_text(const RankReport& report);
/// \throws ProbeFailure if the text is malformed
RankReport read_report(const std::string& text);

std::string samples_text(const std::vector<Seconds>& samples);
/// \throws ProbeFailure if the text is not a list of times
std::vector<Seconds> read_samples(const std::string& text);

}  // namespace fabricast
