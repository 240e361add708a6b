// TCP sockets with deadlines, lines of text on sockets, and a listener that silent strangers cannot block.
//
// Every wait checks `stop_requested` at least twenty times a second and throws Interrupted. An object is used by one
// thread.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"

namespace fabricast::probe {

using Deadline = Clock::time_point;

/// This many seconds from now.
Deadline after(double seconds);

/// A connection broke, was refused, or made no progress until its deadline. `what()` is the reason.
class SocketError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Owns a file descriptor.
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

/// Waits for events of poll(2).
/// \returns false at the deadline
bool wait_for(int fd, short events, Deadline deadline);

/// Tries to connect until it succeeds.
/// \param from  local address to connect from; empty: any
/// \throws SocketError at the deadline, or if a host is unknown
Socket connect_until(const std::string& host, int port, const std::string& from, Deadline deadline);
/// Listens at an address of this host.
/// \param port  0: any free one
/// \throws SocketError
Socket listen_at(const std::string& host, int port);
/// Numeric address and port of the local end.
std::pair<std::string, int> own_address(const Socket& socket);
/// Numeric address of the remote end.
std::string peer_address(const Socket& socket);
/// Whether all addresses of a host are loopback addresses.
/// \throws SocketError if the host is unknown
bool is_loopback(const std::string& host);

/// Lines of text on a socket. Received lines are limited to 1 MiB.
class Wire {
 public:
  Wire() = default;
  explicit Wire(Socket socket) : socket_(std::move(socket)) {}
  /// Sends a line.
  /// \throws SocketError
  void send(const std::string& line, Deadline deadline);
  /// Waits for the next line and returns it.
  /// \throws SocketError
  std::string receive(Deadline deadline);
  /// Reads what has arrived, without waiting.
  /// \returns whether there is a complete line
  /// \throws SocketError if the connection is closed
  bool ready();
  /// The text that has arrived; it begins with the next line.
  /// \pre ready()
  const std::string& front() const { return buffer_; }
  const Socket& socket() const { return socket_; }
  /// Gives up the socket, for raw bytes.
  /// \pre nothing is left unread
  Socket release() { return std::move(socket_); }

 private:
  Socket socket_;
  std::string buffer_;
};

/// Accepts connections and returns each with its first line. A silent connection is dropped after five seconds, or
/// earlier if 64 are waiting and another one arrives.
class Door {
 public:
  explicit Door(Socket listener) : listener_(std::move(listener)) {}
  /// The next connection and its first line; nothing at the deadline.
  std::optional<std::pair<Wire, std::string>> next(Deadline deadline);
  const Socket& listener() const { return listener_; }

 private:
  Socket listener_;
  std::vector<std::pair<Wire, Deadline>> waiting_;
};

}  // namespace fabricast::probe
