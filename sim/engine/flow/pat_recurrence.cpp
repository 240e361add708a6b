#include "pat_recurrence.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <tuple>

namespace fabricast {

namespace {

class Simulation {
 public:
  Simulation(const PatRun& run, std::int64_t loops)
      : run_(run), loops_(loops), total_(loops + (run.tail >= 0 ? 1 : 0)), queues_(run.dimensions.size()) {
    channels_.resize(static_cast<std::size_t>(run.channels));
    for (Channel& c : channels_) c.used.resize(run.dimensions.size());
  }

  double operator()() {
    for (std::size_t c = 0; c < channels_.size(); ++c) send_next(c);
    while (true) {
      const double sent = next_sent();
      if (!posts_.empty() && std::get<0>(posts_.top()) <= sent) {
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
  struct Channel {
    std::int64_t loop = 0, message = 0;  ///< to be sent next
    std::size_t dimension = 0;
    bool copying = false;
    double sender = 0, receiver = 0;
    std::vector<std::vector<double>> used;  ///< by dimension: when each message has been received and used
    std::deque<Message> posted;             ///< on its way through the proxy thread
  };

  double bytes(const Channel& c) const {
    const PatMessages& d = run_.dimensions[c.dimension];
    const double block = c.loop < loops_ ? run_.block : run_.tail;
    return block * static_cast<double>(c.message + 1 == d.messages ? d.last : d.blocks);
  }

  /// Copies the channel's next message, if what it sends on has come and a slot is free.
  void send_next(std::size_t index) {
    Channel& c = channels_[index];
    if (c.copying || c.loop == total_) return;
    double start = c.sender;
    if (c.dimension > 0) {
      const std::vector<double>& before = c.used[c.dimension - 1];
      const auto needed = static_cast<std::size_t>((c.loop + 1) * run_.dimensions[c.dimension - 1].messages);
      if (before.size() < needed) return;
      start = std::max(start, before[needed - 1]);
    }
    const auto number = static_cast<std::size_t>(c.loop * run_.dimensions[c.dimension].messages + c.message);
    const auto slots = static_cast<std::size_t>(run_.slots);
    if (number >= slots) {
      const std::vector<double>& used = c.used[c.dimension];
      if (used.size() < number - slots + 1) return;
      start = std::max(start, used[number - slots] + run_.latency);
    }
    c.copying = true;
    c.sender = start + run_.overhead + bytes(c) * run_.copy;
    posts_.push({c.sender, next_++, index, false});
  }

  void post(std::size_t index) {
    Channel& c = channels_[index];
    c.posted.push_back({index, c.dimension, bytes(c)});
    proxy_ = std::max(proxy_, now_) + run_.proxy;
    posts_.push({proxy_, next_++, index, true});
    c.copying = false;
    if (++c.message == run_.dimensions[c.dimension].messages) {
      c.message = 0;
      if (++c.dimension == run_.dimensions.size()) c.dimension = 0, ++c.loop;
    }
    send_next(index);
  }

  void enqueue(std::size_t index) {
    Channel& c = channels_[index];
    queues_[c.posted.front().dimension].push_back(c.posted.front());
    c.posted.pop_front();
  }

  // ---- the NIC ----

  std::size_t active() const {
    return static_cast<std::size_t>(std::count_if(queues_.begin(), queues_.end(), [](const auto& q) { return !q.empty(); }));
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
  /// The message that has least left is sent.
  void finish_sent() {
    auto least = queues_.end();
    for (auto q = queues_.begin(); q != queues_.end(); ++q)
      if (!q->empty() && (least == queues_.end() || q->front().bytes < least->front().bytes)) least = q;
    const Message m = least->front();
    least->pop_front();
    Channel& c = channels_[m.channel];
    const auto number = static_cast<std::int64_t>(c.used[m.dimension].size());
    const PatMessages& d = run_.dimensions[m.dimension];
    const double block = number / d.messages < loops_ ? run_.block : run_.tail;
    const double size = block * static_cast<double>((number + 1) % d.messages == 0 ? d.last : d.blocks);
    const double part = m.dimension + 1 == queues_.size() ? run_.receive : 1;
    c.receiver = std::max(c.receiver, now_ + run_.latency) + run_.overhead + size * run_.copy * part;
    c.used[m.dimension].push_back(c.receiver);
    send_next(m.channel);
  }

  const PatRun& run_;
  std::int64_t loops_, total_;
  double now_ = 0, proxy_ = 0;
  std::uint64_t next_ = 0;
  std::vector<Channel> channels_;
  using Post = std::tuple<double, std::uint64_t, std::size_t, bool>;  // time, order, channel, at the NIC
  std::priority_queue<Post, std::vector<Post>, std::greater<>> posts_;
  std::vector<std::deque<Message>> queues_;  ///< by dimension
};

}  // namespace

double pat_makespan(const PatRun& run) {
  constexpr std::int64_t followed = 12, period = 8;  // loops: periodic long before
  if (run.loops <= followed + period) return Simulation(run, run.loops)();
  const std::int64_t a = followed + (run.loops - followed) % period, b = a + period;
  const double at_a = Simulation(run, a)(), at_b = Simulation(run, b)();
  return at_b + (at_b - at_a) * static_cast<double>((run.loops - b) / period);
}

}  // namespace fabricast
