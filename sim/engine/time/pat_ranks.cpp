// (1) of the header, for all ranks, and what its numbers are taken from.
//
// Slots and the proxy thread's work per byte are left out here. They are in pat_recurrence.hpp, whose time counts in
// full; of (1) only the difference between unlike and like links is used, and both runs leave out the same.
#include "pat_ranks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "../count/network_counter.hpp"
#include "fabricast/collective/pat.hpp"
#include "fabricast/core/parallel.hpp"

namespace fabricast {

namespace {

/// Number of loops of a channel that are followed. They become periodic soon.
constexpr std::int64_t followed_loops = 8;
/// Passes over the sharing of slow ports, because arrival times depend on the sharing.
constexpr int passes = 4;
/// Ranks per thread: enough to be worth starting a thread.
constexpr std::size_t block_of_ranks = 1 << 15;

/// What a rank sends on one dimension.
struct Burst {
  double messages = 0, bytes = 0, first = 0, last = 0;
  double taken = 1;  ///< cost of the receiver's copy, relative
};

/// The arrivals at a slow port, in the order of the schedule. Messages of different dimensions share the port; those of
/// one dimension come one after the other.
///
/// The port is shared like a processor: n dimensions with a message at the port get 1/n of it each. A stay is from the
/// arrival to the last byte, and includes the wait for earlier messages of the dimension.
class Inbox {
 public:
  explicit Inbox(std::size_t places) : queues_(places) {}
  /// \param taken  s at the port without sharing
  void add(std::size_t place, double begin, double taken) { queues_[place].bursts.push_back({begin, taken}); }
  /// s; how long the next message to be added stays at the port, with the others alongside.
  double stay(std::size_t place) const {
    const Queue& q = queues_[place];
    return q.bursts.size() < q.stays.size() ? q.stays[q.bursts.size()] : 0;
  }

  /// Computes the stays of what has been added, in fair shares.
  void settle() {
    constexpr double never = std::numeric_limits<double>::infinity();
    for (Queue& q : queues_) q.start();
    // From event to event: a message ends or begins.
    for (double now = 0;;) {
      double sharers = 0, least = never, begins = never;
      for (const Queue& q : queues_) {
        if (q.is_empty()) continue;
        if (q.front().begin > now)
          begins = std::min(begins, q.front().begin);
        else {
          ++sharers;
          least = std::min(least, q.left);
        }
      }
      if (sharers == 0 && begins == never) break;
      const double until = sharers > 0 ? std::min(begins, now + least * sharers) : begins;
      for (Queue& q : queues_)
        if (!q.is_empty() && q.front().begin <= now) q.serve((until - now) / sharers, until);
      now = until;
    }
    for (Queue& q : queues_) q.bursts.clear();
  }

 private:
  struct Burst {
    double begin, taken;
  };
  struct Queue {
    std::vector<Burst> bursts;
    std::vector<double> stays;
    double left = 0;  ///< s; remainder of the first one that is not done
    bool is_empty() const { return stays.size() == bursts.size(); }
    const Burst& front() const { return bursts[stays.size()]; }
    void start() {
      stays.clear();
      if (!is_empty()) left = front().taken;
    }
    void serve(double seconds, double now) {
      left -= seconds;
      // Rounding must not leave a remainder that needs an event of its own.
      if (left > front().taken * 1e-9) return;
      stays.push_back(now - front().begin);
      if (!is_empty()) left = front().taken;
    }
  };
  std::vector<Queue> queues_;  ///< by place
};

/// s per byte of a message.
struct SendPace {
  double path = 0, nic = 0;
  bool in_turn = true;  ///< messages of the channels leave the NIC one after the other; else at once
};

/// (1) for all ranks and channels.
class Ranks {
 public:
  Ranks(const PatRun& run, bool gathers, std::int64_t ranks, std::size_t threads)
      : run_(run),
        threads_(threads),
        channels_(run.channels.size()),
        places_(run.channels.front().dimensions.size()),
        ranks_(static_cast<std::size_t>(ranks)),
        gathers_(gathers) {
    for (const PatShare& c : run.channels) loops_ = std::max(loops_, loops(c));
    followed_ = std::min(loops_, followed_loops);
  }
  /// Marks a rank whose port is slower than others when it receives. \param port  s per byte
  void receive_slowly(std::size_t rank, double port) { slow_.emplace(rank, Slow{Inbox(places_), port}); }

  /// \param seconds  (channel, place, sender, receiver) -> SendPace
  template <class Seconds>
  double operator()(Seconds seconds) {
    double makespan = run(seconds);
    // Stays depend on arrivals and arrivals on stays, so both are computed in turn. The first pass has no stays.
    for (int pass = 1; pass < passes && !slow_.empty(); ++pass) {
      for (auto& [rank, slow] : slow_) slow.inbox.settle();
      makespan = run(seconds);
    }
    return makespan;
  }

 private:
  /// One channel of a rank, s.
  struct Worker {
    double sender = 0, received = 0;
    double heard = 0, hears = 0;  ///< when it has received on the previous dimension, on this one
    double ready() const { return std::max(sender, heard); }
  };
  struct Slow {
    Inbox inbox;
    double port;
  };

  static std::int64_t loops(const PatShare& share) { return share.loops + (share.tail >= 0 ? 1 : 0); }

  template <class Seconds>
  double run(Seconds seconds) {
    workers_.assign(ranks_ * channels_, {});
    nic_.assign(ranks_, 0);
    std::vector<double> ends;
    for (std::int64_t l = 0; l < followed_; ++l) {
      // On its first dimension a loop sends only the rank's own data, so it waits for nothing that was received.
      for (Worker& w : workers_) w.heard = 0;
      for (std::size_t place = 0; place < places_; ++place) send_all(place, l, seconds);
      double& end = ends.emplace_back(0);
      for (const Worker& w : workers_) end = std::max(end, w.received);
    }
    const auto at = [&](std::int64_t back) { return ends[ends.size() - static_cast<std::size_t>(back)]; };
    // The last loop may be a shorter one, so the time per loop is that of the two before it: (end[-2] - end[-4]) / 2.
    return loops_ == followed_ ? at(1) : at(1) + static_cast<double>(loops_ - followed_) * (at(2) - at(4)) / 2;
  }

  template <class Seconds>
  void send_all(std::size_t place, std::int64_t loop, Seconds seconds) {
    std::vector<Burst> bursts;
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < channels_; ++c) {
      bursts.push_back(burst_of(run_.channels[c], place, loop));
      if (bursts.back().messages > 0) order.push_back(c);
    }
    // An all_gather begins with the farthest dimension and sends upwards in rank; a reduce_scatter does both the other
    // way round.
    const std::size_t reach = std::size_t{1} << (gathers_ ? places_ - 1 - place : place);
    const std::size_t step = gathers_ ? reach % ranks_ : ranks_ - reach % ranks_;
    // Each rank sends to a different one and reads only its own state from before the dimension, so any order will do.
    in_parallel(ceil_div(ranks_, block_of_ranks), threads_, [&](std::size_t block) {
      const std::size_t first = block * block_of_ranks;
      send_block(place, seconds, bursts, order, {first, std::min(first + block_of_ranks, ranks_), step});
    });
    for (Worker& w : workers_) w.heard = w.hears;
  }

  struct Block {
    std::size_t first, last, step;
  };
  /// \param order  the channels that send; a copy, because each rank sorts its own
  template <class Seconds>
  void send_block(std::size_t place, Seconds seconds, const std::vector<Burst>& bursts, std::vector<std::size_t> order,
                  Block block) {
    for (std::size_t from = block.first; from < block.last; ++from) {
      const std::size_t to = from + block.step < ranks_ ? from + block.step : from + block.step - ranks_;
      Worker *senders = &workers_[from * channels_], *receivers = &workers_[to * channels_];
      // The proxy thread takes them first come, first served.
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(senders[a].ready(), a) < std::pair(senders[b].ready(), b);
      });
      const double idle = nic_[from];
      double turn = idle;
      for (const std::size_t c : order) {
        const SendPace pace = seconds(c, place, from, to);
        const double begin =
            send(senders[c], receivers[c], bursts[c], pace, pace.in_turn ? turn : idle, {place, from, to});
        if (pace.in_turn) turn = std::max(turn, begin + bursts[c].first * pace.nic);
      }
    }
  }

  struct Between {
    std::size_t place, from, to;
  };
  /// \param idle  when the NIC can begin
  /// \returns when it begins
  double send(Worker& sender, Worker& receiver, const Burst& b, SendPace pace, double idle, Between between) {
    const double ready = sender.ready();
    const double begin = std::max(idle, ready + run_.overhead + b.first * run_.copy + run_.proxy);
    sender.sender = ready + b.messages * run_.overhead + b.bytes * run_.copy;
    const double posted = sender.sender + run_.proxy;
    // Messages of the other channels go between them.
    const double others = pace.in_turn ? static_cast<double>(channels_ - 1) * (b.bytes - b.last) : 0;
    const auto leaves = [&](double u) { return std::max(posted + b.last * u, begin + (b.bytes + others) * u); };
    nic_[between.from] = std::max(nic_[between.from], leaves(pace.nic));
    double leave = leaves(pace.path);
    if (const auto it = slow_.empty() ? slow_.end() : slow_.find(between.to); it != slow_.end()) {
      Slow& slow = it->second;
      leave = std::max(leave, begin + slow.inbox.stay(between.place));
      slow.inbox.add(between.place, begin, b.bytes * slow.port);
    }
    const double comes = std::max(receiver.received, begin + b.first * pace.path + run_.latency);
    const double copy = run_.copy * b.taken;
    receiver.received = std::max(leave + run_.latency + run_.overhead + b.last * copy,
                                 comes + b.messages * run_.overhead + b.bytes * copy);
    receiver.hears = receiver.received;
    return begin;
  }

  /// What a channel sends in one of the loops that are followed. These are the last loops of the longest channel.
  Burst burst_of(const PatShare& share, std::size_t place, std::int64_t loop) const {
    const std::int64_t left = loops(share) - (loop + loops_ - followed_);
    if (left <= 0) return {};
    const double block = left == 1 && share.tail >= 0 ? share.tail : run_.block;
    const PatMessages& m = share.dimensions[place];
    const auto bytes = [&](std::int64_t blocks) { return static_cast<double>(blocks) * block; };
    const bool final = place + 1 == places_;
    return {static_cast<double>(m.messages), bytes((m.messages - 1) * m.blocks + m.last),
            bytes(m.messages > 1 ? m.blocks : m.last), bytes(m.last), final ? run_.receive : 1};
  }

  const PatRun& run_;
  std::size_t threads_;
  std::size_t channels_, places_, ranks_;
  bool gathers_;
  std::int64_t loops_ = 0, followed_ = 0;  ///< of the channel with the most loops
  std::vector<Worker> workers_;            ///< by rank and channel
  std::vector<double> nic_;                ///< by rank: when it has sent all, s
  std::map<std::size_t, Slow> slow_;       ///< by rank
};

}  // namespace

// The fastest port is the reference: slower ones are differences between links, which pat_delay adds.
PatNetwork pat_network(const ChannelView& v) {
  PatNetwork found;
  if (!v.loads.network) return found;
  const NetworkCounter& network = *v.loads.network;
  const PatContentions& contentions = *network.pat_contentions();
  double fastest = 0, messages = 0;
  for (const std::uint32_t port : contentions.out) fastest = std::max(fastest, network.rate(port));
  if (contentions.out.empty()) fastest = network.rate(contentions.port);
  found.nic = v.costs.wire / fastest;
  for (const FabricCount::Trips& trips : contentions.trips) {
    found.latency += network.latency(trips.first) * static_cast<double>(trips.count);
    messages += static_cast<double>(trips.count);
  }
  found.latency /= std::max(1.0, messages);
  return found;
}

double pat_delay(const ChannelView& v, const PatRun& run, const std::vector<int>& channels) {
  const NetworkCounter& network = *v.loads.network;
  const PatContentions& contentions = *network.pat_contentions();
  const bool gathers = v.plan.op == CollectiveOp::all_gather;
  const auto C = static_cast<double>(channels.size());
  const auto seconds_of = [&](std::uint32_t resource, double messages) {
    return messages > 0 ? messages * v.costs.wire / network.rate(resource) : 0;
  };
  std::vector<double> contention;
  for (const PatContentions::Contention& c : contentions.contentions) {
    // Of the messages counted for all channels, those in turn are on the link one channel at a time. In the bound
    // engine no message meets another.
    const double messages = c.messages / (c.in_turn ? C : 1);
    contention.push_back(seconds_of(c.resource, v.loads.alone ? std::min(messages, 1.0) : messages));
  }
  std::vector<double> out, in;
  for (const std::uint32_t port : contentions.out) out.push_back(std::max(run.nic, seconds_of(port, 1)));
  for (const std::uint32_t port : contentions.in) in.push_back(std::max(run.nic, seconds_of(port, 1)));
  // Channels whose paths differ send at once, so each has its share of the ports at both ends.
  const auto unlike = [&](std::size_t c, std::size_t place, std::size_t from, std::size_t to) {
    const std::vector<std::uint16_t>& numbers = contentions.at(channels[c], static_cast<int>(place));
    const std::uint16_t number = numbers.empty() ? 0 : numbers[from];
    const bool in_turn = contentions.contentions[number].in_turn;
    const double sharers = in_turn ? 1 : C, own = sharers * (out.empty() ? run.nic : out[from]);
    return SendPace{std::max({own, contention[number], sharers * (in.empty() ? run.nic : in[to])}), own, in_turn};
  };
  const auto alike = [&](std::size_t, std::size_t, std::size_t, std::size_t) { return SendPace{run.nic, run.nic}; };
  // Of ranks that are alike, one that sends to itself stands for all.
  const double alone = Ranks(run, gathers, 1, 1)(alike);
  Ranks ranks(run, gathers, contentions.ranks, network.threads());
  for (std::size_t r = 0; r < in.size(); ++r)
    // Ports of one speed must not differ by rounding: sharing costs several passes.
    if (in[r] > run.nic * 1.01) ranks.receive_slowly(r, in[r]);
  return ranks(unlike) - alone;
}

}  // namespace fabricast
