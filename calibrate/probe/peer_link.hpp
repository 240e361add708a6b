// A connection between two ranks for the duration of one measurement: text messages, and further connections for data.
//
// Functions throw ProbeFailure unless stated otherwise, so a broken link costs one measurement only, and Interrupted on
// Ctrl-C. Rank 0 finds out whether the rank behind a link is lost. Times are in seconds. A link is used by one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "socket.hpp"

namespace fabricast {

class PeerLink {
 public:
  /// The first side connects to the address of the second.
  /// \param from    local address to connect from; empty: any
  /// \param pass    the secret of the session
  /// \param number  of the measurement
  PeerLink(const std::string& host, int port, const std::string& from, const std::string& pass, int number,
           double timeout);
  /// The second side waits for the connection.
  PeerLink(probe::Door& door, const std::string& pass, int number, double timeout);

  /// Opens a further connection for raw bytes. Both sides call it with the same index.
  probe::Socket connection(int index);

  /// Sends a line.
  void tell(const std::string& line);
  /// Receives a line.
  /// \param more  seconds to wait in addition to the timeout
  /// \throws ProbeFailure if no line arrives in this time, or the other side has failed
  std::string hear(double more = 0);
  /// Sends a line and returns the line of the other side, which calls it as well.
  std::string swap_lines(const std::string& mine);
  /// Informs the other side that this one has failed. Errors of the connection are ignored.
  void fail(const std::string& reason);
  /// Checks whether the other side has failed; does not wait.
  /// \throws ProbeFailure if it has
  void check();
  /// Whether a line has arrived; does not wait.
  /// \throws ProbeFailure if the other side has failed
  bool has_line();

  double timeout() const { return timeout_; }
  int fd() const { return wire_.socket().fd(); }

 private:
  probe::Wire open(int index);
  std::string host_, from_, pass_;
  int port_ = 0, number_;
  probe::Door* door_ = nullptr;
  double timeout_;
  probe::Wire wire_;
};

/// Prefix of failures that the other side has reported.
inline constexpr std::string_view of_other = "the other rank: ";
/// Length of another rank's text when it is shown.
inline constexpr std::size_t longest_reason = 500;

/// Bounds a wait. `look` throws ProbeFailure if there was no progress for the timeout or another side has failed, and
/// Interrupted on Ctrl-C.
class Patience {
 public:
  explicit Patience(PeerLink& link) : Patience(std::vector<PeerLink*>{&link}, link.timeout()) {}
  Patience(std::vector<PeerLink*> links, double timeout)
      : links_(std::move(links)), timeout_(timeout), deadline_(probe::after(timeout)) {}
  /// There was progress: the timeout starts again.
  void moved() { deadline_ = probe::after(timeout_); }
  void look();

 private:
  std::vector<PeerLink*> links_;
  double timeout_;
  probe::Deadline deadline_;
};

}  // namespace fabricast
