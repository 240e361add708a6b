// A port that serves queues of packets by deficit weighted round robin, as switches implement ETS, packet by packet.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace fabricast::test {

/// A sender keeps `window` packets in the queue of its class, as congestion control does, as long as it has any.
struct PortSender {
  std::uint32_t in = 0;
  double rate = 1;         ///< packets that it makes per packet time of the port
  std::int64_t burst = 0;  ///< packets after which it pauses; 0: never
  std::int64_t pause = 0;  ///< packet times
};

/// The fraction of the port that each sender gets over `slots` packet times.
inline std::vector<double> port_shares_by_packets(const std::vector<double>& weights,
                                                  const std::vector<PortSender>& senders, std::int64_t slots) {
  constexpr int window = 4;
  struct State {
    double made = 0;  ///< packets that it may put into the queue
    int queued = 0;
    std::int64_t in_burst = 0;  ///< packets of the burst that have left
    std::int64_t sent_in_burst = 0, until = 0, left = 0;
  };
  std::vector<State> state(senders.size());
  std::vector<std::deque<std::uint32_t>> queues(weights.size());
  std::vector<double> deficit(weights.size(), 0);
  std::size_t at = 0;
  for (std::int64_t now = 0; now < slots; ++now) {
    for (std::uint32_t i = 0; i < senders.size(); ++i) {
      State& s = state[i];
      if (now < s.until) continue;
      s.made = std::min(s.made + senders[i].rate, 2.0 * window);
      while (s.queued < window && s.made >= 1 && (senders[i].burst == 0 || s.sent_in_burst < senders[i].burst)) {
        queues[senders[i].in].push_back(i);
        ++s.queued, ++s.sent_in_burst;
        s.made -= 1;
      }
    }
    // A queue sends as long as its deficit lasts. An empty one loses it.
    bool any = false;
    for (const auto& q : queues) any |= !q.empty();
    if (!any) continue;
    while (queues[at].empty() || deficit[at] < 1) {
      if (queues[at].empty()) deficit[at] = 0;
      at = (at + 1) % queues.size();
      if (!queues[at].empty()) deficit[at] += 8 * weights[at];
    }
    deficit[at] -= 1;
    const std::uint32_t i = queues[at].front();
    queues[at].pop_front();
    State& s = state[i];
    --s.queued, ++s.left;
    if (senders[i].burst > 0 && ++s.in_burst == senders[i].burst) {
      s.in_burst = s.sent_in_burst = 0;
      s.until = now + 1 + senders[i].pause;
    }
  }
  std::vector<double> shares;
  for (const State& s : state) shares.push_back(static_cast<double>(s.left) / static_cast<double>(slots));
  return shares;
}

}  // namespace fabricast::test
