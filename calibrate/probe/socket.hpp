// TCP sockets with deadlines, lines of text on them, and a door that strangers can not block.
//
// Every wait looks at `stop_requested` at least twenty times a second.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"

namespace fabricast::probe {

using Deadline = Clock::time_point;

Deadline after(double seconds);

/// A connection broke, was refused, or did not move until its deadline; `what()` is the reason.
class SocketError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Waits for one of poll's events; false at the deadline.
bool wait_for(int fd, short events, Deadline deadline);

/// Tries until someone answers; `from` is the address to come from, or empty.  \throws SocketError at the deadline
Socket connect_until(const std::string& host, int port, const std::string& from, Deadline deadline);
/// \throws SocketError
Socket listen_at(const std::string& host, int port);
/// Address and port of this end.
std::pair<std::string, int> own_address(const Socket& socket);
std::string peer_address(const Socket& socket);
/// Whether all addresses of a host are this host's loopback.
bool is_loopback(const std::string& host);

/// Lines on a socket.
class Wire {
 public:
  Wire() = default;
  explicit Wire(Socket socket) : socket_(std::move(socket)) {}
  void send(const std::string& line, Deadline deadline);
  /// The next line.  \throws SocketError
  std::string receive(Deadline deadline);
  /// Takes in what has come; true if a whole line waits.  \throws SocketError if the connection has ended
  bool ready();
  /// The line that waits; \pre ready().
  const std::string& front() const { return buffer_; }
  const Socket& socket() const { return socket_; }
  /// For raw bytes from now on; \pre nothing is left unread.
  Socket release() { return std::move(socket_); }

 private:
  Socket socket_;
  std::string buffer_;
};

/// Listens, and gives out connections once they have said a line. Silent ones are dropped after five
/// seconds, or when there are many and another comes.
class Door {
 public:
  explicit Door(Socket listener) : listener_(std::move(listener)) {}
  std::optional<std::pair<Wire, std::string>> next(Deadline deadline);
  const Socket& listener() const { return listener_; }

 private:
  Socket listener_;
  std::vector<std::pair<Wire, Deadline>> waiting_;
};

}  // namespace fabricast::probe
