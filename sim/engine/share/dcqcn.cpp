// (1) to (5) of engine/dcqcn.hpp, step by step.
#include "fabricast/engine/dcqcn.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/engine/max_min.hpp"

namespace fabricast {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-12;  // s; times are multiples of a step up to this

/// Settings in packets, B/s and s.
struct DcqcnLaw {
  explicit DcqcnLaw(const DcqcnProblem& p)
      : kmin(fractional(p.settings.kmin) / fractional(p.packet)),
        kmax(fractional(p.settings.kmax) / fractional(p.packet)),
        pmax(p.settings.pmax.value),
        xoff(fractional(p.settings.xoff) / fractional(p.packet)),
        xon(xoff * 5 / 6),
        s(p.settings) {}
  /// (1). \param queue  packets
  double marked(double queue) const {
    if (queue <= kmin) return 0;
    return queue > kmax ? 1 : pmax * (queue - kmin) / (kmax - kmin);
  }
  double kmin, kmax, pmax, xoff, xon;
  const DcqcnSettings& s;
};

/// A flow's sender, and what its receiver knows.
struct DcqcnFlow {
  std::int64_t unsent = 0, undelivered = 0;  ///< packets
  double credit = 0;                         ///< packets that the rate allows by now
  double line = 0, rate = 0, target = 0;     ///< B/s
  double alpha = 1, alpha_at = 0, cut_at = -never, rise_at = never;
  double sent = 0;  ///< B since the last cut or rise by bytes
  int by_time = 0, by_bytes = 0;
  bool cut_before = false;
  // The receiver, and notifications on their way: bit k arrives in k + 1 steps.
  double notified_at = -never;
  bool pending = false;
  std::uint64_t notifications = 0;
  int delay = 1;  ///< steps

  /// (2) and (3).
  void notify(const DcqcnSettings& s, double now) {
    const double g = s.dce_tcp_g.value;
    if (cut_before) alpha *= std::pow(1 - g, std::floor((now - alpha_at + rounding) / s.dce_tcp_rtt.value));
    alpha_at = now;
    if (now - cut_at >= s.rate_reduce_monitor_period.value - rounding) {
      if (s.clamp_tgt_rate || !cut_before || by_time > 0 || by_bytes > 0) target = rate;
      rate = std::min(line, std::max(rate * std::max(1 - alpha / 2, s.rpg_min_dec_fac.value), s.rpg_min_rate.value));
      cut_at = now;
      cut_before = true;
      by_time = by_bytes = 0;
      sent = 0;
      rise_at = now + s.rpg_time_reset.value;
    }
    alpha = (1 - g) * alpha + g;
  }
  /// (4).
  void rise(const DcqcnSettings& s) {
    if (rate >= line) return;
    const int both = std::min(by_time, by_bytes), either = std::max(by_time, by_bytes), threshold = s.rpg_threshold;
    if (both > threshold)
      target += (both - threshold) * s.rpg_hai_rate.value;
    else if (either > threshold)
      target += s.rpg_ai_rate.value;
    target = std::min(target, line);
    rate = (target + rate) / 2;
    if (rate > 0.9999 * line) rate = line;
  }
  void tell(double now) {
    notified_at = now;
    pending = false;
    notifications |= std::uint64_t{1} << (delay - 1);
  }
};

/// Packets of a flow in a queue. `hop` counts the links of all flows (DcqcnProblem::link).
struct QueuedPackets {
  std::uint32_t hop = 0;
  std::int32_t packets = 0;
  std::uint32_t step = 0;  ///< in which it came
  bool marked = false;
};

struct DcqcnLink {
  double budget = 0;  ///< packets that it may still pass on
  double per_step = 0;
  std::int64_t held = 0;  ///< packets that came by it and are in the queues of the switch behind it
  bool paused = false;
  std::vector<QueuedPackets> queue;
  std::size_t head = 0, turn = 0;       ///< first burst of the oldest step; which of them is next
  std::int64_t length = 0, before = 0;  ///< packets; now, and at the end of the last step

  void push(const QueuedPackets& burst) {
    queue.push_back(burst);
    length += burst.packets;
  }
  void drop(std::size_t end) {
    head = end;
    turn = 0;
    if (head == queue.size()) {
      queue.clear();
      head = 0;
    }
    if (head > 4096 && head * 2 > queue.size()) {
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
      head = 0;
    }
  }
};

class DcqcnRun {
 public:
  DcqcnRun(const DcqcnProblem& problem, std::uint64_t seed)
      : p_(problem),
        packet_(fractional(problem.packet)),
        dt_(problem.step.value),
        law_(problem),
        rng_(seed),
        flows_(problem.bytes.size()),
        links_(problem.capacity.size()) {
    FABRICAST_CHECK(p_.first.size() == flows_.size() + 1 && p_.round_trip.size() == flows_.size() &&
                        (p_.line.empty() || p_.line.size() == flows_.size()) && p_.link.size() == p_.first.back(),
                    "flows, paths and round trips do not match");
    for (std::size_t l = 0; l < links_.size(); ++l) links_[l].per_step = p_.capacity[l].value * dt_ / packet_;
    flow_of_.resize(p_.link.size());
    ends_.end.resize(flows_.size());
    ends_.use.resize(links_.size());
    queued_.resize(links_.size(), 0);
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      std::fill(flow_of_.begin() + p_.first[f], flow_of_.begin() + p_.first[f + 1], f);
      DcqcnFlow& flow = flows_[f];
      flow.unsent = flow.undelivered =
          std::max<std::int64_t>(1, std::llround(std::ceil(fractional(p_.bytes[f]) / packet_ - 1e-9)));
      flow.line = flow.rate = flow.target =
          p_.line.empty() ? p_.capacity[p_.link[p_.first[f]]].value : p_.line[f].value;
      flow.delay = static_cast<int>(std::clamp(std::llround(p_.round_trip[f].value / dt_), 1LL, 63LL));
      open_.push_back(f);
    }
    order_links();
  }

  DcqcnEnds operator()() {
    std::vector<std::int64_t> half;
    double half_at = 0;
    for (std::uint64_t work = 0; !open_.empty(); work += open_.size(), ++step_) {
      now_ = step_ * dt_;
      if (half.empty() && work * 2 > p_.most_work) {
        half = undelivered();
        half_at = now_;
      }
      if (work > p_.most_work) {
        extrapolate(half, half_at);
        break;
      }
      advance();
    }
    if (open_.empty()) ends_.simulated = Seconds{now_ + dt_};
    for (std::size_t l = 0; l < links_.size(); ++l)
      ends_.use[l].queue = Bytes{std::llround(queued_[l] * packet_ * dt_ / ends_.simulated.value)};
    return std::move(ends_);
  }

 private:
  /// NIC ports first, then links by their latest place on a path, so that most packets cross a network in one step.
  void order_links() {
    std::vector<std::uint32_t> place(links_.size(), 0);
    std::vector<bool> used(links_.size(), false);
    ports_.resize(links_.size());
    for (std::uint32_t f = 0; f < flows_.size(); ++f)
      for (std::uint32_t h = p_.first[f]; h < p_.first[f + 1]; ++h) {
        const std::uint32_t l = p_.link[h];
        if (h == p_.first[f]) {
          ports_[l].push_back(f);
        } else {
          place[l] = std::max(place[l], h - p_.first[f]);
          used[l] = true;
        }
      }
    for (std::uint32_t l = 0; l < links_.size(); ++l)
      if (used[l]) order_.push_back(l);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return place[a] < place[b]; });
    for (std::uint32_t l = 0; l < links_.size(); ++l)
      if (!ports_[l].empty()) sending_.push_back(l);
    turn_.resize(links_.size(), 0);
  }

  void advance() {
    ended_ = false;
    for (const std::uint32_t f : open_) {
      DcqcnFlow& flow = flows_[f];
      if (flow.pending && now_ - flow.notified_at >= law_.s.min_time_between_cnps.value - rounding) flow.tell(now_);
      if (flow.notifications & 1) flow.notify(law_.s, now_);
      flow.notifications >>= 1;
      if (now_ >= flow.rise_at - rounding) {
        ++flow.by_time;
        flow.rise(law_.s);
        flow.rise_at = flow.rate < flow.line ? now_ + law_.s.rpg_time_reset.value : never;
      }
      if (flow.unsent > 0) flow.credit += flow.rate * dt_ / packet_;
    }
    for (const std::uint32_t l : sending_) send(l);
    for (const std::uint32_t l : order_) pass(l);
    if (!ended_) return;
    std::erase_if(open_, [&](std::uint32_t f) { return flows_[f].undelivered == 0; });
    for (std::vector<std::uint32_t>& own : ports_)
      std::erase_if(own, [&](std::uint32_t f) { return flows_[f].unsent == 0; });
    std::erase_if(sending_, [&](std::uint32_t l) { return ports_[l].empty(); });
  }

  /// A host serves its flows in turn. One packet each, until the port is full or nobody has credit.
  void send(std::uint32_t l) {
    DcqcnLink& port = links_[l];
    std::vector<std::uint32_t>& own = ports_[l];
    if (port.paused) {
      port.budget = 0;
      for (const std::uint32_t f : own) flows_[f].credit = std::min(flows_[f].credit, 2.0);
      return;
    }
    port.budget += port.per_step;
    const double whole = port.budget;
    if (own.size() == 1) {
      emit(own.front(), static_cast<std::int32_t>(std::floor(std::min(port.budget, flows_[own.front()].credit) + 1e-9)),
           port, whole);
    } else if (!own.empty()) {
      // Equal parts for all that want more than theirs, by rounds of one packet; the one after the last comes first.
      given_.assign(own.size(), 0);
      std::size_t at = turn_[l] % own.size();
      double room = port.budget;
      for (std::size_t idle = 0; room >= 1 - 1e-9 && idle < own.size(); at = (at + 1) % own.size()) {
        const DcqcnFlow& flow = flows_[own[at]];
        const bool wants = flow.unsent > given_[at] && flow.credit - given_[at] >= 1 - 1e-9;
        given_[at] += wants;
        room -= wants;
        idle = wants ? 0 : idle + 1;
      }
      turn_[l] = at;
      for (std::size_t i = 0; i < own.size(); ++i)
        if (given_[i] > 0) emit(own[i], given_[i], port, whole);
      for (const std::uint32_t f : own) flows_[f].credit = std::min(flows_[f].credit, 2.0);
    }
    port.budget = std::min(port.budget, 1.0);
  }

  void emit(std::uint32_t f, std::int32_t packets, DcqcnLink& port, double whole) {
    DcqcnFlow& flow = flows_[f];
    packets = static_cast<std::int32_t>(std::min<std::int64_t>(packets, flow.unsent));
    if (packets <= 0) return;
    flow.unsent -= packets;
    if (flow.unsent == 0) ended_ = true;
    flow.credit -= packets;
    port.budget -= packets;
    flow.sent += packets * packet_;
    if (flow.sent >= fractional(law_.s.rpg_byte_reset)) {
      flow.sent = 0;
      ++flow.by_bytes;
      flow.rise(law_.s);
    }
    arrive({p_.first[f], packets, step_, false}, 1 - std::max(0.0, port.budget) / whole);
  }

  /// Packets that have left the link of their hop. \param part  of the step that was over
  void arrive(QueuedPackets burst, double part) {
    const std::uint32_t f = flow_of_[burst.hop];
    if (burst.hop + 1 == p_.first[f + 1]) return deliver(f, burst, part);
    hold(links_[p_.link[burst.hop]], burst.packets);
    ++burst.hop;
    burst.step = step_;
    links_[p_.link[burst.hop]].push(burst);
  }

  void deliver(std::uint32_t f, const QueuedPackets& burst, double part) {
    DcqcnFlow& flow = flows_[f];
    flow.undelivered -= burst.packets;
    if (burst.marked) {
      if (now_ - flow.notified_at >= law_.s.min_time_between_cnps.value - rounding)
        flow.tell(now_);
      else
        flow.pending = true;
    }
    if (flow.undelivered > 0) return;
    ends_.end[f] = Seconds{now_ + dt_ * part};
    ended_ = true;
  }

  /// (5).
  void hold(DcqcnLink& link, std::int32_t packets) const {
    link.held += packets;
    if (static_cast<double>(link.held) > law_.xoff)
      link.paused = true;
    else if (static_cast<double>(link.held) < law_.xon)
      link.paused = false;
  }

  /// A link passes on what waits in front of it, and marks it by the mean queue of the step.
  void pass(std::uint32_t l) {
    DcqcnLink& link = links_[l];
    if (link.paused) {
      link.budget = 0;
      link.before = link.length;
      return;
    }
    if (link.length == 0) return;
    link.budget += link.per_step;
    const double whole = link.budget;
    const double after = std::max(0.0, static_cast<double>(link.length) - whole);
    const double queue = (static_cast<double>(link.before) + after) / 2, marked = law_.marked(queue);
    DcqcnLinkUse& use = ends_.use[l];
    queued_[l] += queue;
    use.most = std::max(use.most, Bytes{std::llround(after * packet_)});
    while (link.length > 0 && link.budget >= 1 - 1e-9) {
      // What came in one step is interleaved: a flow's packets are not next to each other.
      std::size_t end = link.head;
      std::int64_t all = 0;
      for (; end < link.queue.size() && link.queue[end].step == link.queue[link.head].step; ++end)
        all += link.queue[end].packets;
      const auto room = static_cast<std::int64_t>(link.budget + 1e-9);
      const std::size_t bursts = end - link.head;
      given_.assign(bursts, 0);
      if (all > room) {
        for (std::int64_t n = 0; n < room; link.turn = (link.turn + 1) % bursts)
          if (link.queue[link.head + link.turn].packets > given_[link.turn]) ++given_[link.turn], ++n;
      } else {
        for (std::size_t i = 0; i < bursts; ++i) given_[i] = link.queue[link.head + i].packets;
      }
      for (std::size_t i = 0; i < bursts; ++i)
        if (given_[i] > 0) take(link, link.head + i, given_[i], marked, whole);
      if (all <= room) link.drop(end);
    }
    use.packets += whole - link.budget;
    use.marked += marked * (whole - link.budget);
    if (link.length == 0) link.budget = std::min(link.budget, 1.0);
    link.before = link.length;
  }

  void take(DcqcnLink& link, std::size_t at, std::int32_t packets, double marked, double whole) {
    QueuedPackets burst = link.queue[at];
    burst.packets = packets;
    link.queue[at].packets -= packets;
    link.queue[at].marked = false;  // the receiver hears of it once
    if (marked > 0 && !burst.marked) burst.marked = marked >= 1 || rng_.uniform() >= std::pow(1 - marked, packets);
    link.length -= packets;
    link.budget -= packets;
    hold(links_[p_.link[burst.hop - 1]], -packets);
    arrive(burst, 1 - link.budget / whole);
  }

  std::vector<std::int64_t> undelivered() const {
    std::vector<std::int64_t> left;
    for (const DcqcnFlow& flow : flows_) left.push_back(flow.undelivered);
    return left;
  }

  /// The open flows share links by their mean rates since `half_at`.
  void extrapolate(const std::vector<std::int64_t>& half, double half_at);

  const DcqcnProblem& p_;
  const double packet_, dt_;  ///< B, s
  const DcqcnLaw law_;
  Rng rng_;
  std::vector<DcqcnFlow> flows_;
  std::vector<DcqcnLink> links_;
  std::vector<std::uint32_t> flow_of_;             ///< by hop
  std::vector<std::uint32_t> open_;                ///< flows
  std::vector<std::uint32_t> order_;               ///< links behind ports
  std::vector<std::uint32_t> sending_;             ///< ports
  std::vector<std::vector<std::uint32_t>> ports_;  ///< flows by port that have something to send
  std::vector<std::size_t> turn_;                  ///< by port: whose turn it is
  std::vector<std::int32_t> given_;
  std::vector<double> queued_;  ///< by link; packets in its queue, summed over steps
  std::uint32_t step_ = 0;
  double now_ = 0;
  bool ended_ = false;  ///< a flow was sent or delivered whole
  DcqcnEnds ends_;
};

/// Ends of flows that share links max-min, weighted, from `now` on. Shares change whenever one ends.
/// \param left  B, by flow; 0: it has ended, and `end` is not changed
void share_rest(const DcqcnProblem& p, std::vector<double> left, const std::vector<double>& weight, double now,
                std::vector<Seconds>& end) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t f = 0; f < left.size(); ++f)
    if (left[f] > 0) open.push_back(f);
  SharingProblem links;
  for (const BytesPerSecond c : p.capacity) links.capacity.push_back(c.value);
  links.first.push_back(0);
  while (!open.empty()) {
    SharingProblem sharing = links;
    for (const std::uint32_t f : open) {
      sharing.link.insert(sharing.link.end(), p.link.begin() + p.first[f], p.link.begin() + p.first[f + 1]);
      sharing.first.push_back(static_cast<std::uint32_t>(sharing.link.size()));
      sharing.weight.push_back(weight[f]);
      sharing.cap.push_back(never);
    }
    sharing.use.assign(sharing.link.size(), 1);
    const std::vector<double> level = fill(sharing).level;
    double step = never;
    for (std::size_t i = 0; i < open.size(); ++i) step = std::min(step, left[open[i]] / (level[i] * weight[open[i]]));
    now += step;
    for (std::size_t i = 0; i < open.size(); ++i) {
      double& rest = left[open[i]];
      const double rate = level[i] * weight[open[i]];
      // Flows that end together do so up to rounding.
      rest = rest / rate <= step * (1 + 1e-9) ? 0 : rest - rate * step;
      if (rest == 0) end[open[i]] = Seconds{now};
    }
    std::erase_if(open, [&](std::uint32_t f) { return left[f] == 0; });
  }
}

void DcqcnRun::extrapolate(const std::vector<std::int64_t>& half, double half_at) {
  std::vector<double> left(flows_.size(), 0), weight(flows_.size(), 1);
  for (const std::uint32_t f : open_) {
    left[f] = static_cast<double>(flows_[f].undelivered) * packet_;
    const double passed = static_cast<double>(half[f] - flows_[f].undelivered) * packet_;
    weight[f] = std::max(passed / (now_ - half_at), law_.s.rpg_min_rate.value);
  }
  ends_.simulated = Seconds{now_};
  share_rest(p_, std::move(left), weight, now_, ends_.end);
}

}  // namespace

DcqcnSettings pauses_alone(Bytes xoff) {
  // No queue is as long.
  constexpr Bytes endless{std::int64_t{1} << 60};
  DcqcnSettings settings;
  settings.kmin = settings.kmax = endless;
  settings.xoff = xoff;
  return settings;
}

DcqcnEnds dcqcn_ends(const DcqcnProblem& problem, std::uint64_t seed) { return DcqcnRun(problem, seed)(); }

std::vector<Seconds> fair_ends(const DcqcnProblem& problem) {
  const double packet = fractional(problem.packet);
  std::vector<double> left;
  for (const Bytes bytes : problem.bytes)
    left.push_back(std::max(1.0, std::ceil(fractional(bytes) / packet - 1e-9)) * packet);
  std::vector<Seconds> end(problem.bytes.size());
  share_rest(problem, std::move(left), std::vector<double>(end.size(), 1), 0, end);
  return end;
}

}  // namespace fabricast
