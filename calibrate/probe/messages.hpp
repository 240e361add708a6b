// What ranks say to each other, as texts of one line: made of values, and read back, as a stranger may have sent it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fabricast/calibrate/probe_session.hpp"

namespace fabricast {

/// A rank, as all others know it.
struct Member {
  std::string host;     ///< its name
  std::string address;  ///< where its door is
  int port = 0;
  std::string provenance;              ///< JSON; known to rank 0
  std::vector<BackendFacts> backends;  ///< known to rank 0
};

/// What a rank says when it comes to rank 0.
std::string hello_text(const SessionOptions& options, const Member& self);

/// A rank that came, or why it is refused.
struct Hello {
  std::string refused;  ///< empty: it is taken
  int rank = 0;
  Member member;
};
/// \param here  ranks that are there already
Hello read_hello(const std::string& text, const SessionOptions& options, const std::set<int>& here);

/// What rank 0 answers when all are there.
struct Roster {
  std::string refused;  ///< why this rank is; empty: it is taken
  std::string pass;
  std::vector<Member> members;  ///< host, address and port alone
};
std::string roster_text(const Roster& roster);
/// \throws ProbeFailure if it is no answer of rank 0
Roster read_roster(const std::string& text);

/// What rank 0 asks ranks to measure; or that it ends.
struct Order {
  bool ends = false;
  std::string reason;  ///< why it ends; empty: all is measured
  Measurement measurement;
  int number = 0;
  Seconds share;  ///< of the budget
};
std::string order_text(const Order& order);
/// \param ranks  of the session
/// \throws ProbeFailure if it is no order, or none that a rank would give
Order read_order(const std::string& text, int ranks);

/// What a rank has measured.
struct RankReport {
  std::vector<Seconds> samples;
  std::string error, how;
};
std::string report_text(const RankReport& report);
/// \throws ProbeFailure if it is no report
RankReport read_report(const std::string& text);

std::string samples_text(const std::vector<Seconds>& samples);
/// \throws ProbeFailure if they are no list of times
std::vector<Seconds> read_samples(const std::string& text);

}  // namespace fabricast
