#include "socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "fabricast/core/file.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast::probe {

namespace {

constexpr std::size_t longest_line = 1 << 20;
constexpr std::size_t most_waiting = 64;
constexpr int slice_ms = 50;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, int port, int flags = 0) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) throw SocketError(fmt::format("unknown host '{}': {}", host, gai_strerror(code)));
  return {found, freeaddrinfo};
}

int milliseconds_to(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, slice_ms));
}

Socket open_socket(const addrinfo& address) {
  Socket s(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (s.fd() < 0) throw SocketError("cannot create a socket: " + system_reason(errno));
  return s;
}

/// Small messages are sent at once. A peer whose host has died is noticed within half a minute.
void prepare(const Socket& s) {
  const int on = 1, idle = 10, interval = 5, count = 4, user_timeout_ms = 30000;
  setsockopt(s.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(s.fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(s.fd(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(s.fd(), IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(s.fd(), IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(s.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
}

/// Zero, or the error number.
int try_connect(const Socket& s, const addrinfo& address, const std::string& from, Deadline deadline) {
  if (!from.empty()) {
    const Addresses own = resolve(from, 0, AI_PASSIVE);
    if (bind(s.fd(), own->ai_addr, own->ai_addrlen) != 0) return errno;
  }
  if (connect(s.fd(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(s.fd(), POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::pair<std::string, int> text_of(const sockaddr_storage& a, socklen_t size) {
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "0";
  getnameinfo(reinterpret_cast<const sockaddr*>(&a), size, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, std::atoi(port)};
}

}  // namespace

Deadline after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

bool wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    stop_if_requested();
    pollfd p{fd, events, 0};
    if (poll(&p, 1, milliseconds_to(deadline)) > 0) return true;
    if (Clock::now() >= deadline) return false;
  }
}

Socket connect_until(const std::string& host, int port, const std::string& from, Deadline deadline) {
  std::string reason = "no answer";
  do {
    const Addresses addresses = resolve(host, port);
    for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
      Socket s = open_socket(*a);
      const int error = try_connect(s, *a, from, deadline);
      if (error == 0) {
        prepare(s);
        return s;
      }
      reason = system_reason(error);
    }
    stop_if_requested();
    std::this_thread::sleep_for(std::chrono::milliseconds(slice_ms));
  } while (Clock::now() < deadline);
  throw SocketError(reason);
}

Socket listen_at(const std::string& host, int port) {
  const Addresses addresses = resolve(host, port, AI_PASSIVE);
  Socket s = open_socket(*addresses);
  const int on = 1;
  setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(s.fd(), addresses->ai_addr, addresses->ai_addrlen) != 0 || listen(s.fd(), 1024) != 0)
    throw SocketError(fmt::format("cannot listen at {} port {}: {}", host, port, system_reason(errno)));
  return s;
}

std::pair<std::string, int> own_address(const Socket& socket) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&a), &size);
  return text_of(a, size);
}

std::string peer_address(const Socket& socket) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&a), &size);
  return text_of(a, size).first;
}

bool is_loopback(const std::string& host) {
  const Addresses addresses = resolve(host, 0);
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    const std::string text = text_of(*reinterpret_cast<const sockaddr_storage*>(a->ai_addr), a->ai_addrlen).first;
    if (!text.starts_with("127.") && text != "::1") return false;
  }
  return true;
}

void Wire::send(const std::string& line, Deadline deadline) {
  const std::string text = line + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = ::send(socket_.fd(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
      sent += static_cast<std::size_t>(n);
    else if (errno != EAGAIN && errno != EINTR)
      throw SocketError(system_reason(errno));
    else if (!wait_for(socket_.fd(), POLLOUT, deadline))
      throw SocketError("no answer in time");
  }
}

bool Wire::ready() {
  if (buffer_.find('\n') != std::string::npos) return true;
  char part[65536];
  while (true) {
    const ssize_t n = recv(socket_.fd(), part, sizeof part, MSG_DONTWAIT);
    if (n == 0) throw SocketError("the connection was closed");
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n < 0) throw SocketError(system_reason(errno));
    buffer_.append(part, static_cast<std::size_t>(n));
    if (buffer_.find('\n') != std::string::npos) return true;
    if (buffer_.size() > longest_line) throw SocketError("a line is too long");
  }
}

std::string Wire::receive(Deadline deadline) {
  while (!ready())
    if (!wait_for(socket_.fd(), POLLIN, deadline)) throw SocketError("no answer in time");
  const std::size_t end = buffer_.find('\n');
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::optional<std::pair<Wire, std::string>> Door::next(Deadline deadline) {
  while (true) {
    std::vector<pollfd> polled{{listener_.fd(), POLLIN, 0}};
    for (const auto& w : waiting_) polled.push_back({w.first.socket().fd(), POLLIN, 0});
    stop_if_requested();
    poll(polled.data(), polled.size(), milliseconds_to(deadline));
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      bool drop = Clock::now() >= waiting_[i].second;
      try {
        if (waiting_[i].first.ready()) {
          Wire wire = std::move(waiting_[i].first);
          waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
          std::string line = wire.receive(deadline);
          return std::pair(std::move(wire), std::move(line));
        }
      } catch (const SocketError&) { drop = true; }
      if (drop) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    if (polled[0].revents & POLLIN) {
      Socket s(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      // The connection that has been silent longest makes room: a rank sends its line at once.
      if (s.fd() >= 0 && waiting_.size() == most_waiting) waiting_.erase(waiting_.begin());
      if (s.fd() >= 0) {
        prepare(s);
        waiting_.emplace_back(Wire(std::move(s)), after(5));
      }
    } else if (Clock::now() >= deadline) {
      return std::nullopt;
    }
  }
}

}  // namespace fabricast::probe
