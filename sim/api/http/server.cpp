// Connections and their deadlines, around poll.
#include "server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>

#include "fabricast/core/file.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast {

namespace {

using HttpClock = std::chrono::steady_clock;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Address address_of(const std::string& text, int port) {
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof v4;
  } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof v6;
  } else {
    throw UserError(fmt::format("'{}' is not a numeric address", text), "e.g. 127.0.0.1, ::1 or 0.0.0.0");
  }
  return address;
}

int listening(const HttpSettings& settings) {
  const Address address = address_of(settings.address, settings.port);
  const int descriptor = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (descriptor < 0 || bind(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      listen(descriptor, 128) != 0) {
    const std::string reason = system_reason(errno);
    if (descriptor >= 0) close(descriptor);
    throw Unavailable(fmt::format("cannot listen on {} port {}: {}", settings.address, settings.port, reason));
  }
  return descriptor;
}

int port_of(int descriptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                                            : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
}

struct Connection {
  int descriptor = -1;
  std::string in, out;
  std::size_t needed = 0;  ///< bytes of the request that comes, once its head says so
  HttpClock::time_point until;
  bool begun = false;                 ///< whether part of a request has come
  std::optional<WorkPool::Id> asked;  ///< the question that it waits for
  std::string type;                   ///< of the answer to it
  bool keep_open = true, head = false;
  bool draining = false;  ///< its last response is written, and what still comes is dropped
};

class Server {
 public:
  explicit Server(HttpSettings settings)
      : settings_(std::move(settings)), pool_(settings_.limits, settings_.files), listener_(listening(settings_)) {}
  ~Server() {
    for (const Connection& c : connections_) close(c.descriptor);
    close(listener_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_of(listener_); }

  void run() {
    while (!stop_requested) {
      std::vector<pollfd> waited{{listener_, POLLIN, 0}};
      for (const Connection& c : connections_) {
        const auto wanted = c.out.empty() ? POLLIN : POLLOUT;
        waited.push_back({c.descriptor, static_cast<short>(wanted), 0});
      }
      const std::size_t own = waited.size();
      pool_.add_to(waited);
      if (poll(waited.data(), waited.size(), timeout()) < 0 && errno != EINTR)
        throw Unavailable(fmt::format("cannot wait: {}", system_reason(errno)));
      std::size_t at = 1;
      for (auto it = connections_.begin(); it != connections_.end() && at < own; ++at) {
        const auto here = it++;
        if (waited[at].revents != 0 && !serve(*here)) leave(here);
      }
      for (const WorkPool::Event& event : pool_.step())
        if (event.done) deliver(event);
      close_late_ones();
      if (waited.front().revents != 0) accept_new();
    }
  }

 private:
  using Place = std::list<Connection>::iterator;

  static HttpClock::duration lasting(Seconds time) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(time.value * 1000));
  }

  int timeout() const {
    int shortest = pool_.patience();
    for (const Connection& c : connections_) {
      if (c.asked) continue;  // the pool knows how long it may take
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(c.until - HttpClock::now()).count() + 1;
      const int bounded = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
      shortest = shortest < 0 ? bounded : std::min(shortest, bounded);
    }
    return shortest;
  }

  void accept_new() {
    for (int i = 0; i < 64; ++i) {
      const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (descriptor < 0) {
        // Out of descriptors: one that is idle goes, or the loop would spin.
        if (errno == EMFILE || errno == ENFILE) make_room();
        return;
      }
      if (connections_.size() >= static_cast<std::size_t>(settings_.connections) && !make_room()) {
        close(descriptor);
        continue;
      }
      const int on = 1;
      setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      Connection c;
      c.descriptor = descriptor;
      c.until = HttpClock::now() + lasting(settings_.patience);
      connections_.push_back(std::move(c));
    }
  }

  /// Closes the connection that has least time left among those that wait for no answer. \returns whether there is one
  bool make_room() {
    Place oldest = connections_.end();
    for (Place it = connections_.begin(); it != connections_.end(); ++it)
      if (!it->asked && it->out.empty() && (oldest == connections_.end() || it->until < oldest->until)) oldest = it;
    if (oldest == connections_.end()) return false;
    leave(oldest);
    return true;
  }

  void leave(Place place) {
    if (place->asked) pool_.cancel(*place->asked);
    close(place->descriptor);
    connections_.erase(place);
  }

  void close_late_ones() {
    const auto now = HttpClock::now();
    for (auto it = connections_.begin(); it != connections_.end();) {
      const Place here = it++;
      if (here->asked || now < here->until) continue;
      if (here->begun && here->out.empty()) {
        // It is told once, and gets no further time to hear it.
        const std::string bytes = http_bytes(refusal(408, "the request took too long"), false, false);
        (void)send(here->descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
      leave(here);
    }
  }

  /// Reads or writes once, and does what then can be done. \returns false if the connection is over
  bool serve(Connection& c) {
    if (!c.out.empty()) return send_some(c) && advance(c);
    char bytes[1 << 16];
    const ssize_t count = recv(c.descriptor, bytes, sizeof bytes, 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    if (c.draining) return true;
    c.in.append(bytes, static_cast<std::size_t>(count));
    // While an answer is awaited, only the next small request may already come.
    if (c.asked) return c.in.size() < sizeof bytes;
    if (!c.begun) c.until = HttpClock::now() + lasting(settings_.patience);
    c.begun = true;
    return advance(c);
  }

  /// Takes requests while they are complete and their responses are written. \returns false if the connection is over
  bool advance(Connection& c) {
    while (c.out.empty() && !c.asked && !c.draining) {
      if (!c.keep_open) return end_politely(c);
      // A body that is not complete need not be looked at again for every piece of it.
      if (c.in.empty() || c.in.size() < c.needed) return true;
      HttpParse parse = parse_http(c.in, static_cast<std::size_t>(settings_.limits.request.value));
      c.needed = parse.used;
      if (parse.state == HttpParse::State::incomplete) return true;
      c.needed = 0;
      if (parse.state == HttpParse::State::refused) {
        c.keep_open = false;
        respond(c, refusal(parse.refusal, std::string(parse.why)));
      } else {
        c.in.erase(0, parse.used);
        c.keep_open = parse.request.keep_open;
        c.head = parse.request.method == "HEAD";
        take(c, parse.request);
      }
      if (!c.asked && !send_some(c)) return false;
    }
    return true;
  }

  void take(Connection& c, const HttpRequest& request) {
    auto answer = route(request, settings_.access);
    if (auto* response = std::get_if<HttpResponse>(&answer)) return respond(c, *response);
    if (pool_.full()) {
      HttpResponse busy = refusal(503, "too many requests wait", "try again later");
      busy.headers["Retry-After"] = "1";
      return respond(c, busy);
    }
    auto& job = std::get<HttpJob>(answer);
    c.type = std::move(job.type);
    c.asked = pool_.submit(std::move(job.job));
  }

  void respond(Connection& c, const HttpResponse& response) const {
    c.out = http_bytes(response, c.keep_open, c.head);
    c.until = HttpClock::now() + lasting(settings_.patience);
  }

  /// \returns false if nobody reads any more
  bool send_some(Connection& c) {
    const ssize_t count = send(c.descriptor, c.out.data(), c.out.size(), MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    c.out.erase(0, static_cast<std::size_t>(count));
    if (!c.out.empty()) return true;
    c.begun = !c.in.empty();
    c.until = HttpClock::now() + lasting(c.begun ? settings_.patience : settings_.idle);
    return true;
  }

  /// Ends a connection whose client may still send: closing at once would take back the response.
  bool end_politely(Connection& c) {
    shutdown(c.descriptor, SHUT_WR);
    c.draining = true;
    c.begun = false;
    c.until = HttpClock::now() + std::chrono::seconds(1);
    return true;
  }

  void deliver(const WorkPool::Event& event) {
    for (Place it = connections_.begin(); it != connections_.end(); ++it) {
      if (it->asked != event.id) continue;
      it->asked.reset();
      respond(*it, response_of(*event.done, it->type));
      if (!send_some(*it) || !advance(*it)) leave(it);
      return;
    }
  }

  HttpSettings settings_;
  WorkPool pool_;
  int listener_;
  std::list<Connection> connections_;
};

}  // namespace

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

void serve_http(HttpSettings settings, const std::function<void(int port)>& ready) {
  settings.access.hosts.insert({"localhost", "127.0.0.1", "[::1]"});
  warm_up();
  Server server(std::move(settings));
  ready(server.port());
  server.run();
}

}  // namespace fabricast
