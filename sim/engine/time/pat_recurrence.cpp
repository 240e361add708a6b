// Two kinds of events: a message becomes ready for the proxy thread or the NIC (`posts_`), and a message leaves the
// NIC. Everything else follows from them. For message k of a channel on a dimension i, with b bytes,
//
//    copied   = max( previous copied,  all of the loop used on i-1,  used of message k - slots, + latency ) + o + b c
//    posted   = max( proxy thread free, copied ) + proxy + thread b
//    sent     = when the NIC has sent b bytes, after the dimension's earlier messages, at 1/d of its rate while d
//               dimensions have messages there
//    arrived  = sent + latency
//    used     = max( arrived, previous used ) + o + b c     (b c times `receive` on the last dimension)       (1)
//
// (docs/models/pat.md; slots, order of the schedule: [NCCL-PAT]). `used` frees the slot; the news of it takes the
// latency of a message.
#include "pat_recurrence.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <tuple>

namespace fabricast {

namespace {

class PatSimulation {
 public:
  /// \param skipped  number of whole loops that are left out
  PatSimulation(const PatRun& run, std::int64_t skipped) : run_(run), queues_(run.channels.front().dimensions.size()) {
    for (const PatShare& share : run.channels) {
      Channel& c = channels_.emplace_back();
      c.dimensions = &share.dimensions;
      c.loops = std::max<std::int64_t>(0, share.loops - skipped);
      c.tail = share.tail;
      c.total = c.loops + (share.tail >= 0 ? 1 : 0);
      c.arrived.resize(queues_.size());
      c.used.resize(queues_.size());
    }
  }

  /// The makespan, s.
  double operator()() {
    for (std::size_t c = 0; c < channels_.size(); ++c) send_next(c);
    while (true) {
      const double sent = next_sent();
      if (!posts_.empty() && std::get<0>(posts_.top()) <= sent) {
        // At equal times in the order in which they were posted, so results do not depend on the heap.
        const auto [time, order, c, at_nic] = posts_.top();
        posts_.pop();
        elapse(time);
        at_nic ? enqueue(c) : post(c);
      } else if (sent < infinity) {
        elapse(sent);
        finish_sent();
      } else {
        break;
      }
    }
    // A rank is done when it has received everything; what it sends arrives at itself.
    double end = 0;
    for (const Channel& c : channels_) end = std::max(end, c.receiver);
    return end;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct Message {
    std::size_t channel, dimension;
    double bytes;
  };
  /// A message of the schedule. Ranks send and receive in the same order.
  struct Place {
    std::int64_t loop = 0, message = 0;
    std::size_t dimension = 0;
  };
  struct Channel {
    const std::vector<PatMessages>* dimensions = nullptr;
    std::int64_t loops = 0, total = 0;  ///< whole loops, all loops
    double tail = 0;
    Place sent, taken;  ///< the next message to send, and to receive
    bool copying = false;
    double sender = 0, receiver = 0;
    std::vector<std::vector<double>> arrived, used;  ///< by dimension: when each message has arrived, and been used
    std::deque<Message> posted;                      ///< waiting for the proxy thread, or in it
  };

  // The last message of a dimension may have fewer blocks than the others.
  double bytes(const Channel& c, const Place& p) const {
    const PatMessages& d = (*c.dimensions)[p.dimension];
    const double block = p.loop < c.loops ? run_.block : c.tail;
    return block * static_cast<double>(p.message + 1 == d.messages ? d.last : d.blocks);
  }
  static void advance(const Channel& c, Place& p) {
    if (++p.message < (*c.dimensions)[p.dimension].messages) return;
    p.message = 0;
    if (++p.dimension == c.dimensions->size()) {
      p.dimension = 0;
      ++p.loop;
    }
  }

  /// Copies the channel's next message, if the data that it forwards have arrived and a slot is free.
  void send_next(std::size_t index) {
    Channel& c = channels_[index];
    const Place& p = c.sent;
    if (c.copying || p.loop == c.total) return;
    double start = c.sender;
    if (p.dimension > 0) {
      const std::vector<double>& before = c.used[p.dimension - 1];
      const auto needed = static_cast<std::size_t>((p.loop + 1) * (*c.dimensions)[p.dimension - 1].messages);
      // Not received yet: `finish_sent` tries again after each message of the channel.
      if (before.size() < needed) return;
      start = std::max(start, before[needed - 1]);
    }
    const auto number = static_cast<std::size_t>(p.loop * (*c.dimensions)[p.dimension].messages + p.message);
    const auto slots = static_cast<std::size_t>(run_.slots);
    if (number >= slots) {
      const std::vector<double>& used = c.used[p.dimension];
      if (used.size() < number - slots + 1) return;
      start = std::max(start, used[number - slots] + run_.latency);
    }
    c.copying = true;
    c.sender = start + run_.overhead + bytes(c, p) * run_.copy;
    posts_.push({c.sender, next_++, index, false});
  }

  void post(std::size_t index) {
    Channel& c = channels_[index];
    c.posted.push_back({index, c.sent.dimension, bytes(c, c.sent)});
    // One thread for all channels: first come, first served.
    proxy_ = std::max(proxy_, now_) + run_.proxy + run_.thread * c.posted.back().bytes;
    posts_.push({proxy_, next_++, index, true});
    c.copying = false;
    advance(c, c.sent);
    send_next(index);
  }

  void enqueue(std::size_t index) {
    Channel& c = channels_[index];
    queues_[c.posted.front().dimension].push_back(c.posted.front());
    c.posted.pop_front();
  }

  // ---- the NIC ----

  // The NIC's rate is divided evenly over dimensions, since each goes to another rank, over another connection.
  std::size_t active() const {
    return static_cast<std::size_t>(
        std::count_if(queues_.begin(), queues_.end(), [](const auto& q) { return !q.empty(); }));
  }
  double next_sent() const {
    double least = infinity;
    for (const auto& queue : queues_)
      if (!queue.empty()) least = std::min(least, queue.front().bytes);
    return least == infinity ? infinity : now_ + std::max(0.0, least) * run_.nic * static_cast<double>(active());
  }
  void elapse(double time) {
    if (const std::size_t n = active(); n > 0 && run_.nic > 0) {
      const double each = (time - now_) / (run_.nic * static_cast<double>(n));
      for (auto& queue : queues_)
        if (!queue.empty()) queue.front().bytes -= each;
    }
    now_ = time;
  }
  /// Ends the message with the fewest remaining bytes.
  void finish_sent() {
    auto least = queues_.end();
    for (auto q = queues_.begin(); q != queues_.end(); ++q)
      if (!q->empty() && (least == queues_.end() || q->front().bytes < least->front().bytes)) least = q;
    const Message m = least->front();
    least->pop_front();
    Channel& c = channels_[m.channel];
    c.arrived[m.dimension].push_back(now_ + run_.latency);
    receive(c);
    send_next(m.channel);
  }

  /// Receives what has arrived, in the order of the schedule.
  void receive(Channel& c) {
    while (c.taken.loop < c.total) {
      const auto number =
          static_cast<std::size_t>(c.taken.loop * (*c.dimensions)[c.taken.dimension].messages + c.taken.message);
      if (c.arrived[c.taken.dimension].size() <= number) return;
      const double part = c.taken.dimension + 1 == queues_.size() ? run_.receive : 1;
      c.receiver = std::max(c.receiver, c.arrived[c.taken.dimension][number]) + run_.overhead +
                   bytes(c, c.taken) * run_.copy * part;
      c.used[c.taken.dimension].push_back(c.receiver);
      advance(c, c.taken);
    }
  }

  const PatRun& run_;
  double now_ = 0, proxy_ = 0;
  std::uint64_t next_ = 0;
  std::vector<Channel> channels_;
  using Post = std::tuple<double, std::uint64_t, std::size_t, bool>;  // time, order, channel, at the NIC
  std::priority_queue<Post, std::vector<Post>, std::greater<>> posts_;
  std::vector<std::deque<Message>> queues_;  ///< by dimension
};

}  // namespace

double pat_makespan(const PatRun& run) {
  // Once the loops are periodic, each period adds the same time. With a and b the numbers of loops of two short runs
  // that differ by one period, T = T(b) + periods (T(b) - T(a)). Whole periods are left out of all channels alike.
  constexpr std::int64_t followed = 12, period = 8;  // loops; they become periodic long before
  std::int64_t loops = 0;
  for (const PatShare& share : run.channels) loops = std::max(loops, share.loops);
  if (loops <= followed + period) return PatSimulation(run, 0)();
  const std::int64_t periods = (loops - followed) / period - 1;
  const double at_a = PatSimulation(run, (periods + 1) * period)(), at_b = PatSimulation(run, periods * period)();
  return at_b + (at_b - at_a) * static_cast<double>(periods);
}

}  // namespace fabricast
