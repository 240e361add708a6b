#include "verbs_trials.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "peer_link.hpp"
#include "verbs_endpoint.hpp"

namespace fabricast {

using probe::Clock;

namespace {

constexpr double window_s = 0.01;
constexpr std::size_t in_flight = 4 << 20;  // bytes per queue pair: more than any link holds, yet drained soon

std::size_t line_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Waiting by polling. Each poll is followed by yielding the CPU or by a nap, because a waiting process must not starve
/// the one it waits for. The link is checked only every 256 polls.
class Spin {
 public:
  explicit Spin(PeerLink& link) : patience_(link) {}
  void moved() { patience_.moved(), turns_ = 0; }
  void turn() {
    sched_yield();
    look();
  }
  /// For streams, whose windows are long compared with a nap: sleeps between polls if messages are far apart. A
  /// process that only yields keeps half of the CPU, which the kernel may need to move data: Soft-RoCE lost a fifth of
  /// its rate.
  void rest() {
    if (turns_ == 0) since_ = Clock::now();
    if (probe::seconds_since(since_) < far_apart_s)
      sched_yield();
    else
      usleep(nap_us);
    look();
  }

 private:
  void look() {
    if (++turns_ % 256 == 0) patience_.look();
  }
  static constexpr double far_apart_s = 0.001;
  static constexpr unsigned nap_us = 50;
  Patience patience_;
  unsigned turns_ = 0;
  Clock::time_point since_;
};

class VerbsTrial : public ProbeTrial {
 public:
  VerbsTrial(const VerbsSetup& setup, const Measurement& m, std::size_t size, int depth)
      : thread_(bound(setup.memory.place)),
        bytes_(static_cast<std::size_t>(m.bytes.value)),
        first_(setup.side == ProbeSide::first),
        link_(setup.link),
        end_(setup.calls, first_ ? m.from_port : m.to_port, setup.memory, m.connections, size, depth, setup.wishes) {
    VerbsPeer self = end_.self();
    if (const std::string reason = refusal(setup.memory.place); !reason.empty())
      self.memory += ", not bound: " + reason;
    const VerbsPeer peer = peer_of(link_.swap_lines(peer_text(self)));
    end_.connect(peer, first_ ? self : peer);
    how_ = self.memory + " -> " + peer.memory;
  }
  std::string how() const override { return how_; }

 private:
  static NumaBinding bound(const NumaPlace& place) {
    return place.binds() ? place.calls->bind_thread(place.node) : NumaBinding{};
  }
  std::string refusal(const NumaPlace& place) const {
    return thread_.reason.empty() ? place.refusal() : thread_.reason;
  }

  // Declared before the endpoint, so that the bound thread touches the buffer first, and is unbound after it.
  NumaBinding thread_;

 protected:
  std::size_t bytes_;
  bool first_;
  PeerLink& link_;
  VerbsEndpoint end_;

 private:
  std::string how_;
};

/// Round trips of RDMA writes: each side polls for a tag in the last byte that the other side writes.
class WriteLatency : public VerbsTrial {
 public:
  WriteLatency(const VerbsSetup& setup, const Measurement& m)
      : VerbsTrial(in_order(setup), m, 2 * line_up(static_cast<std::size_t>(m.bytes.value)), 4),
        landing_(line_up(bytes_)) {}
  std::vector<Seconds> run(int repeats) override {
    std::vector<Seconds> samples;
    Spin spin(link_);
    for (int i = 0; i < repeats; ++i, spin.moved()) {
      tag_ = static_cast<char>(1 + (tag_ % 100));
      const auto begin = Clock::now();
      if (first_) send();
      await_tag(spin);
      if (first_) samples.push_back({probe::seconds_since(begin) / 2});
      if (!first_) send();
      while (unacknowledged_ > 0)
        if (!reap()) spin.turn();
    }
    return samples;
  }

 private:
  /// The last byte of a message must not arrive before the others.
  static VerbsSetup in_order(VerbsSetup setup) {
    setup.wishes.in_order = true;
    return setup;
  }
  void send() {
    end_.memory()[bytes_ - 1] = tag_;
    end_.post(0, IBV_WR_RDMA_WRITE, bytes_, 0, landing_);
    ++unacknowledged_;
  }
  void await_tag(Spin& spin) {
    volatile const char* last = end_.memory() + landing_ + bytes_ - 1;
    while (*last != tag_) {
      // Errors are reported in the completion queue.
      reap();
      spin.turn();
    }
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  bool reap() {
    const int done = end_.poll().sends;
    unacknowledged_ -= done;
    return done > 0;
  }
  std::size_t landing_;
  char tag_ = 0;
  int unacknowledged_ = 0;
};

/// Round trips of sends: each side waits for a completion of its receive.
class SendLatency : public VerbsTrial {
 public:
  SendLatency(const VerbsSetup& setup, const Measurement& m)
      : VerbsTrial(setup, m, 2 * line_up(static_cast<std::size_t>(m.bytes.value)), 4) {
    // The receive is posted before the other side can send.
    end_.post_receive(0, bytes_, line_up(bytes_));
  }
  std::vector<Seconds> run(int repeats) override {
    std::vector<Seconds> samples;
    Spin spin(link_);
    for (int i = 0; i < repeats; ++i, spin.moved()) {
      const auto begin = Clock::now();
      if (first_) send();
      while (received_ == 0) step(spin);
      --received_;
      if (first_) samples.push_back({probe::seconds_since(begin) / 2});
      end_.post_receive(0, bytes_, line_up(bytes_));
      if (!first_) send();
      while (unacknowledged_ > 0) step(spin);
    }
    return samples;
  }

 private:
  void send() {
    end_.post(0, IBV_WR_SEND, bytes_, 0, 0);
    ++unacknowledged_;
  }
  void step(Spin& spin) {
    const VerbsEndpoint::Done done = end_.poll();
    unacknowledged_ -= done.sends;
    received_ += done.receives;
    if (done.sends + done.receives == 0) spin.turn();
  }
  int unacknowledged_ = 0, received_ = 0;
};

int depth_of(const Measurement& m) {
  return static_cast<int>(std::clamp<std::size_t>(in_flight / static_cast<std::size_t>(m.bytes.value), 2, 128));
}

/// Writes or reads without a pause on all queue pairs. A window lasts from one completion to another.
class RdmaBandwidth : public VerbsTrial {
 public:
  RdmaBandwidth(const VerbsSetup& setup, const Measurement& m, ibv_wr_opcode opcode)
      : VerbsTrial(setup, m, static_cast<std::size_t>(m.bytes.value), depth_of(m)),
        opcode_(opcode),
        depth_(depth_of(m)) {}
  std::vector<Seconds> run(int repeats) override {
    if (!first_) return {};
    std::vector<Seconds> samples;
    Spin spin(link_);
    for (int q = 0; q < end_.queue_pairs(); ++q)
      for (int i = 0; i < depth_; ++i) post(q);
    // The first window fills the pipe.
    for (int i = 0; i <= repeats; ++i) {
      const Seconds each = window(spin);
      if (i > 0) samples.push_back(each);
    }
    while (flying_ > 0) reap(spin);
    return samples;
  }

 private:
  void post(int queue_pair) {
    end_.post(queue_pair, opcode_, bytes_, 0, 0);
    ++flying_;
  }
  std::vector<int> reap(Spin& spin) {
    VerbsEndpoint::Done done = end_.poll();
    flying_ -= done.sends;
    if (done.sends > 0)
      spin.moved();
    else
      spin.rest();
    return std::move(done.queue_pairs);
  }
  Seconds window(Spin& spin) {
    const int least = 2 * end_.queue_pairs();
    const auto begin = Clock::now();
    for (int done = 0;;) {
      for (const int q : reap(spin)) {
        ++done;
        post(q);
      }
      const double time = probe::seconds_since(begin);
      if (done >= least && time >= window_s) return {time / done};
    }
  }
  ibv_wr_opcode opcode_;
  int depth_, flying_ = 0;
};

}  // namespace

std::unique_ptr<ProbeTrial> prepare_verbs_trial(const VerbsSetup& setup, const Measurement& m) {
  if (m.what == "write_latency") return std::make_unique<WriteLatency>(setup, m);
  if (m.what == "send_latency") return std::make_unique<SendLatency>(setup, m);
  const ibv_wr_opcode opcode = m.what == "read_bandwidth" ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
  return std::make_unique<RdmaBandwidth>(setup, m, opcode);
}

}  // namespace fabricast
