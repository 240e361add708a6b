// The tcp backend: sockets between ranks, which work on every host.
//
// Latency is half a round trip of one message in each direction. For bandwidth the sender writes to all connections
// without a pause, and the receiver counts the bytes that arrive in windows, so that data in the sender's buffers do
// not count as sent. One thread drives all connections.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "fabricast/core/file.hpp"
#include "pairs.hpp"
#include "peer_link.hpp"

namespace fabricast {

using probe::Clock;
using probe::Socket;

namespace {

constexpr double window_s = 0.02;
// Minimum of a window: it is longer on slow links, so that the granularity of packets and messages averages out.
constexpr std::int64_t window_bytes = 256 << 10, window_messages = 64;
constexpr BytesPerSecond assumed_rate{1.25e9};
constexpr std::size_t most_buffer = 4 << 20;

[[noreturn]] void lost(ssize_t n) {
  throw ProbeFailure(n == 0 ? "a connection was closed" : "a connection broke: " + system_reason(errno));
}

/// Blocking send and receive, because a blocked thread is woken soonest. The socket times out regularly to check for
/// failures.
class Transfer {
 public:
  Transfer(const Socket& socket, PeerLink& link) : fd_(socket.fd()), patience_(link) {}
  void send(const std::vector<char>& buffer, std::int64_t bytes) {
    move(bytes,
         [&](std::size_t part) { return ::send(fd_, buffer.data(), std::min(part, buffer.size()), MSG_NOSIGNAL); });
  }
  void receive(std::vector<char>& buffer, std::int64_t bytes) {
    move(bytes, [&](std::size_t part) { return recv(fd_, buffer.data(), std::min(part, buffer.size()), 0); });
  }

 private:
  template <class F>
  void move(std::int64_t bytes, F some) {
    while (bytes > 0) {
      const ssize_t n = some(static_cast<std::size_t>(bytes));
      if (n > 0) {
        bytes -= n;
        moved_ = true;
      } else if (n < 0 && (errno == EAGAIN || errno == EINTR))
        wait();
      else
        lost(n);
    }
  }
  void wait() {
    if (std::exchange(moved_, false)) patience_.moved();
    patience_.look();
  }
  int fd_;
  bool moved_ = true;
  Patience patience_;
};

/// Latency.
class PingPong : public ProbeTrial {
 public:
  PingPong(const Measurement& m, ProbeSide side, PeerLink& link)
      : bytes_(m.bytes.value),
        first_(side == ProbeSide::first),
        socket_(link.connection(0)),
        transfer_(socket_, link),
        buffer_(std::min<std::size_t>(static_cast<std::size_t>(bytes_), most_buffer)) {
    const timeval look_up{0, 50000};
    if (fcntl(socket_.fd(), F_SETFL, 0) != 0 ||
        setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &look_up, sizeof look_up) != 0 ||
        setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDTIMEO, &look_up, sizeof look_up) != 0)
      throw ProbeFailure("cannot make a socket blocking: " + system_reason(errno));
  }
  std::vector<Seconds> run(int repeats) override {
    std::vector<Seconds> samples;
    for (int i = 0; i < repeats; ++i) {
      const auto begin = Clock::now();
      if (first_) transfer_.send(buffer_, bytes_);
      transfer_.receive(buffer_, bytes_);
      if (first_)
        samples.push_back({probe::seconds_since(begin) / 2});
      else
        transfer_.send(buffer_, bytes_);
    }
    return samples;
  }

 private:
  std::int64_t bytes_;
  bool first_;
  Socket socket_;
  Transfer transfer_;
  std::vector<char> buffer_;
};

/// Both ends of a stream: the connections, and the bytes that each has carried.
class Stream : public ProbeTrial {
 public:
  Stream(const Measurement& m, PeerLink& link) : bytes_(m.bytes.value), link_(link) {
    for (int i = 0; i < m.connections; ++i) sockets_.push_back(link.connection(i));
    counts_.resize(sockets_.size());
    buffer_.resize(std::min<std::size_t>(static_cast<std::size_t>(bytes_), most_buffer));
  }

 protected:
  /// Moves data on all connections that are ready, or waits for one.
  /// \param some  moves data on connection i; returns the bytes moved, or -1 with errno
  template <class F>
  std::int64_t move(short event, Patience& patience, F some) {
    std::int64_t moved = 0;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      const ssize_t n = some(i);
      if (n > 0) {
        moved += n;
        counts_[i] += n;
      }
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) lost(n);
    }
    if (moved > 0) return patience.moved(), moved;
    std::vector<pollfd> polled{{link_.fd(), POLLIN, 0}};
    for (const Socket& s : sockets_) polled.push_back({s.fd(), event, 0});
    poll(polled.data(), polled.size(), 50);
    patience.look();
    return 0;
  }

  std::int64_t bytes_;
  PeerLink& link_;
  std::vector<Socket> sockets_;
  std::vector<std::int64_t> counts_;
  std::vector<char> buffer_;
};

class StreamSender : public Stream {
 public:
  /// Limits unsent data in the system's buffers. Otherwise a stream on a slow link would end with seconds of buffered
  /// data.
  StreamSender(const Measurement& m, PeerLink& link) : Stream(m, link) {
    constexpr int unsent = 256 << 10;
    for (const Socket& socket : sockets_)
      setsockopt(socket.fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);  // best effort
  }
  std::vector<Seconds> run(int) override {
    Patience patience(link_);
    // Sends until the receiver has enough. The receiver then learns how much was sent, to drain the connections.
    while (!link_.has_line())
      move(POLLOUT, patience, [&](std::size_t i) {
        const std::int64_t left = bytes_ - counts_[i] % bytes_;
        const std::size_t part = std::min(static_cast<std::size_t>(left), buffer_.size());
        return ::send(sockets_[i].fd(), buffer_.data(), part, MSG_DONTWAIT | MSG_NOSIGNAL);
      });
    link_.hear();
    link_.tell(nlohmann::json(counts_).dump());
    return {};
  }
};

class StreamReceiver : public Stream {
 public:
  using Stream::Stream;
  std::vector<Seconds> run(int repeats) override {
    Patience patience(link_);
    buffer_.resize(std::max<std::size_t>(buffer_.size(), 256 << 10));
    const auto receive = [&](std::size_t i) {
      return recv(sockets_[i].fd(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    };
    std::vector<Seconds> samples;
    // The first window fills the pipe.
    for (int i = 0; i <= repeats; ++i) {
      const Seconds each = window(patience, receive);
      if (i > 0) samples.push_back(each);
    }
    link_.tell("enough");
    const auto sent = nlohmann::json::parse(hear_while_receiving(patience, receive)).get<std::vector<std::int64_t>>();
    if (sent.size() != counts_.size()) throw ProbeFailure("the other rank has a different number of connections");
    while (counts_ != sent) move(POLLIN, patience, receive);
    return samples;
  }

 private:
  template <class F>
  Seconds window(Patience& patience, F receive) {
    const auto begin = Clock::now();
    const std::int64_t least = std::min(window_bytes, window_messages * bytes_);
    std::int64_t received = 0;
    while (true) {
      received += move(POLLIN, patience, receive);
      const double time = probe::seconds_since(begin);
      if (received >= least && time >= window_s)
        return {time * static_cast<double>(bytes_) / static_cast<double>(received)};
    }
  }
  template <class F>
  std::string hear_while_receiving(Patience& patience, F receive) {
    while (!link_.has_line()) move(POLLIN, patience, receive);
    return link_.hear();
  }
};

class Tcp : public ProbeBackend {
 public:
  std::string unavailable() override { return {}; }
  std::vector<ProbePort> ports() override { return {}; }
  std::vector<Measurement> plan(const ProbeSettings& settings, const std::vector<BackendFacts>& facts) override {
    constexpr Bytes small[] = {{8}, {1 << 10}, {8 << 10}, {64 << 10}, {1 << 20}}, large[] = {{64 << 10}, {1 << 20}};
    constexpr int connections[] = {1, 4};
    std::vector<Measurement> plan;
    for (int a = 0; a < static_cast<int>(facts.size()); ++a)
      for (int b = 0; b < static_cast<int>(facts.size()); ++b) {
        if (a == b || !facts[static_cast<std::size_t>(a)].unavailable.empty() ||
            !facts[static_cast<std::size_t>(b)].unavailable.empty())
          continue;
        Measurement base;
        base.backend = "tcp";
        base.memory = "host";
        base.from = a;
        base.to = b;
        if (a < b) add_pair(plan, base, {"latency", false, small, {}}, assumed_rate, settings);
        add_pair(plan, base, {"bandwidth", true, large, connections}, assumed_rate, settings);
      }
    return plan;
  }
  std::unique_ptr<ProbeTrial> prepare(const Measurement& m, const ProbeSettings&, ProbeSide side,
                                      const std::vector<PeerLink*>& links) override {
    PeerLink& link = *links.front();
    if (!m.stream) return std::make_unique<PingPong>(m, side, link);
    if (side == ProbeSide::first) return std::make_unique<StreamSender>(m, link);
    return std::make_unique<StreamReceiver>(m, link);
  }
};

}  // namespace

std::unique_ptr<ProbeBackend> tcp_probe() { return std::make_unique<Tcp>(); }

}  // namespace fabricast
