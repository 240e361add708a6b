// What leads from one side of a measurement to the other, for as long as the measurement lasts.
//
// All of it throws ProbeFailure: a link that breaks costs one measurement. Whether the rank behind it is gone is for
// rank 0 to find out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "socket.hpp"

namespace fabricast {

class PeerLink {
 public:
  /// The first side goes to the address of the second; `pass` is what its door asks for, `number` the measurement's.
  PeerLink(const std::string& host, int port, const std::string& from, const std::string& pass, int number,
           double timeout);
  /// The second side opens its door.
  PeerLink(probe::Door& door, const std::string& pass, int number, double timeout);

  /// A further connection, of the same number on both sides; for raw bytes.
  probe::Socket connection(int index);

  void tell(const std::string& line);
  /// \throws ProbeFailure if nothing comes for the timeout and `more` seconds, or the other side has failed
  std::string hear(double more = 0);
  /// Sends one's own, gives the other's.
  std::string collective(const std::string& mine);
  /// Tells the other side that this one gives up; never throws.
  void fail(const std::string& reason);
  /// Looks whether the other side has given up; does not wait.
  void check();
  /// Whether a line waits; does not wait, and looks as `check` does.
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

/// How reasons begin that the other side has given.
inline constexpr std::string_view of_other = "the other rank: ";
/// Of what another rank says, where it is shown.
inline constexpr std::size_t longest_reason = 500;

/// Throws once nothing has moved for the timeout, the user has asked to stop, or the other side has given up.
class Patience {
 public:
  explicit Patience(PeerLink& link) : Patience(std::vector<PeerLink*>{&link}, link.timeout()) {}
  Patience(std::vector<PeerLink*> links, double timeout)
      : links_(std::move(links)), timeout_(timeout), deadline_(probe::after(timeout)) {}
  void moved() { deadline_ = probe::after(timeout_); }
  void look();

 private:
  std::vector<PeerLink*> links_;
  double timeout_;
  probe::Deadline deadline_;
};

}  // namespace fabricast
