// (1) to (3) of pipeline.hpp, slice by slice and station by station, and what follows from them for K slices:
//
//   T(K) = T(B) + ( T(B) - T(A) ) (K - B) / P,      P = 2 slots,  B = A + P,  A = K mod P,  A past the filling      (4)
//
// T in s. Once the pipeline is full, a recurrence of max and plus grows by the same amount in every period. So two
// short runs give the time of the whole.
#include "pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

/// Limits on the iterations over the busy times of stations; they end earlier when the makespan converges. If channels
/// come apart, the iteration may oscillate, so each step goes only half of the distance, and more steps are allowed.
constexpr int busy_passes = 4, busy_passes_apart = 16;
constexpr double settled = 1e-4;

/// Times, in s, of the first and the last of the channels that run in step.
struct Moments {
  double first = 0, last = 0;
};
Moments max(Moments a, Moments b) { return {std::max(a.first, b.first), std::max(a.last, b.last)}; }
Moments operator+(Moments a, double seconds) { return {a.first + seconds, a.last + seconds}; }

/// When the first slice arrives at each station, and when the last one has left it, in s.
struct Busy {
  explicit Busy(std::size_t stations) : from(stations), until(stations), copied(stations), worked(stations) {}
  std::vector<double> from, until;
  std::vector<double> copied;  ///< s of copying in between; workers of a tree
  std::vector<double> worked;  ///< s of work in between, if channels come apart

  /// Fraction of that time in which the station has work.
  double load(std::size_t i) const {
    return worked[i] > 0 && until[i] > from[i] ? std::min(1.0, worked[i] / (until[i] - from[i])) : 1;
  }
};

/// The sum of (2) for one station, as a step function of time, and what (3) needs of it.
class Activity {
 public:
  Activity(const Pipeline& p, std::size_t station, const Busy& busy) {
    double opposite = 0;
    steps_.reserve(2 * p.stations[station].users.size());
    for (const PlaceUser& user : p.stations[station].users) {
      begin_ = std::min(begin_, busy.from[user.station]);
      is_last_ &= busy.until[user.station] <= busy.until[station];
      // While the station itself works, it is busy.
      if (user.station == station) {
        always_ += user.part;
        opposite += user.opposite;
        continue;
      }
      // Weighted with its load, because it is not known when in its busy time it works.
      const double load = busy.load(user.station);
      steps_.push_back({busy.from[user.station], user.part, load * user.part, load * user.opposite});
      steps_.push_back({busy.until[user.station], -user.part, -load * user.part, -load * user.opposite});
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.time < b.time; });
    // Turn differences into levels, so that one search finds the sum at a time.
    double sum = always_, loaded = always_;
    alone_ = std::max(always_, opposite);
    for (Step& step : steps_) {
      step.level = sum += step.level;
      step.loaded = std::max(loaded += step.loaded, opposite += step.opposite);
    }
  }
  /// Whether this station is the last of the users to end.
  bool is_last() const { return is_last_; }
  /// s; when the first of the users begins.
  double begin() const { return begin_; }
  /// The sum of (2) at a time.
  double at(double now) {
    const std::size_t next = next_after(now);
    return next == 0 ? always_ : steps_[next - 1].level;
  }
  /// s; how long a round takes from now on, alongside the users that have work.
  double stretch(double now, double round) {
    std::size_t next = next_after(now);
    double level = next == 0 ? alone_ : steps_[next - 1].loaded, t = now, left = round;
    // From step to step: while fewer users are busy, the round progresses faster.
    for (; next < steps_.size() && left * level > steps_[next].time - t; ++next) {
      left -= (steps_[next].time - t) / level;
      t = steps_[next].time;
      level = steps_[next].loaded;
    }
    return t + left * level - now;
  }

 private:
  struct Step {
    double time, level, loaded, opposite;
  };
  /// The first step after a time. Slices come one after the other, so it is near the one that was found last.
  std::size_t next_after(double now) {
    while (next_ > 0 && now < steps_[next_ - 1].time) --next_;
    while (next_ < steps_.size() && !(now < steps_[next_].time)) ++next_;
    return next_;
  }
  double always_ = 0, alone_ = 0, begin_ = std::numeric_limits<double>::infinity();
  bool is_last_ = true;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
};

/// Recurrence (1) for a given number of slices.
class Run {
 public:
  /// \param expected  busy times of the stations; null: all the time
  Run(const Pipeline& p, std::int64_t whole, const Busy* expected)
      : p_(p),
        whole_(whole),
        total_(whole + p.tails),
        busy_(p.stations.size()),
        expected_(expected),
        slot_(static_cast<std::size_t>(p.slots)) {
    done_.assign(p.stations.size() * slot_, Moments{});
    consumer_.resize(p.stations.size());
    sender_.resize(p.stations.size());
    for (std::size_t i = p.stations.size(), worker = 0; i-- > 0;) {
      consumer_[i] = worker;
      if (!p.stations[i].server) worker = i;
    }
    for (std::size_t i = p.stations.size(), last = 0; i-- > 0;) {
      if (p.stations[i].server && !p.stations[i + 1].server) last = i;
      sender_[i] = last;
    }
    for (std::size_t i = 0; i < p.stations.size(); ++i) {
      double part = p.stations[i].users.empty() ? 1 : 0;
      for (const PlaceUser& user : p.stations[i].users) part += user.station == i ? user.part : 0;
      own_part_.push_back(part > 0 ? part : 1);
    }
    // In the first pass no busy times are known: all stations count as busy all the time.
    if (!expected) return;
    activities_.reserve(p.stations.size());
    for (std::size_t i = 0; i < p.stations.size(); ++i) activities_.emplace_back(p, i, *expected);
  }

  double operator()() {
    Moments end;
    now_ = slot_ - 1;
    for (std::int64_t k = 0; k < total_; ++k) {
      before_ = now_;
      if (++now_ == slot_) now_ = 0;
      end = slice(k);
    }
    return end.last;
  }

  Busy& busy() { return busy_; }

 private:
  Moments slice(std::int64_t k) {
    const bool tail = k >= whole_;
    Moments arrival{0, 0}, whole_arrival{0, 0}, last{0, 0};
    for (std::size_t i = 0; i < p_.stations.size(); ++i) {
      const Station& s = p_.stations[i];
      const Service& service = tail ? s.tail : s.whole;
      const Moments before = done_[i * slot_ + before_];
      // The busy times of this pass are the input of the next one.
      if (k == 0) busy_.from[i] = arrival.first;
      Moments end;
      if (s.server) {
        // A message waits for a slot of its receiver. The proxy thread waits; the NIC behind it takes what it posts.
        if (!p_.stations[i - 1].server && k >= p_.slots)
          arrival = max(arrival, a_round_ago(consumer_[i]) + p_.stations[sender_[i]].credit);
        const double step = s.as_they_come ? in_company(i, service.step, arrival.first) : service.step;
        end = arrival + service.pass;
        end.last = std::max(end.last, arrival.first + step);
        if (s.as_they_come) busy_.worked[i] += end.last - arrival.first;
        // A gap applies to whole slices. The last ones are shorter.
        if (k > 0) end = max(end, before + std::max({service.step, round(i, service, arrival.last), tail ? 0 : s.gap}));
        if (k + 1 == total_) end.last = std::max(end.last, least_end(i));
        arrival = whole_arrival = end + s.latency;
      } else {
        Moments start = k > 0 ? max(arrival, before) : arrival;
        if (k >= p_.slots && i + 1 < p_.stations.size()) start = max(start, freed(i));
        const double all = round(i, service, start.last), copy = copying(i, service.copy, start.last);
        busy_.copied[i] += copy;
        // Replace the copying in `pass` by the time it takes alongside the other part of the block.
        const double threads = service.pass + copy - service.copy;
        end = max(start + (s.as_they_come ? sojourn(i, service, start, all) : std::max(threads, all)), whole_arrival);
        if (s.as_they_come && k > 0) end = max(end, before + all);
        if (s.as_they_come) busy_.worked[i] += end.last - start.last;
        if (k > 0 && !tail) end = max(end, before + s.gap);
        if (k + 1 == total_) end.last = std::max(end.last, least_end(i));
        // With cut-through the next station starts with the first line, and ends no earlier than the last one arrives.
        whole_arrival = end + s.latency;
        arrival = s.hand_on >= 0 ? start + (s.hand_on + s.latency) : whole_arrival;
      }
      last = done_[i * slot_ + now_] = end;
      busy_.until[i] = end.last;
    }
    return last;
  }

  /// s; how long a copy takes alongside those of the other part of the block.
  double copying(std::size_t i, double copy, double now) const {
    const std::size_t other = p_.stations[i].beside;
    if (other == no_station || copy <= 0) return copy;
    const double slower = 2 / p_.both_directions;
    if (!expected_) return copy * slower;
    // Between its first and its last slice, the other part copies in a fraction `load` of the time on average. Before
    // and after, copies go at their own pace.
    const double from = expected_->from[other], until = expected_->until[other];
    if (now >= until || now + copy <= from) return copy;
    const double load = until > from ? std::min(1.0, expected_->copied[other] / (until - from)) : 1;
    const double before = std::max(0.0, from - now), factor = 1 + load * (slower - 1);
    const double beside = std::min((copy - before) * factor, until - std::max(now, from));
    return before + beside + (copy - before - beside / factor);
  }

  /// s; d of (3). \param all  a round alongside the others: R + B
  double sojourn(std::size_t i, const Service& service, Moments start, double all) const {
    // The positive root of d^2 + (D - R - B) d - B D = 0, which is (3) for d > 0.
    const double others = all - service.round * own_part_[i], spread = start.last - start.first;
    return std::max(service.pass, (all - spread + std::sqrt(sqr(all - spread) + 4 * others * spread)) / 2);
  }
  static double sqr(double x) { return x * x; }

  /// (2)
  double round(std::size_t i, const Service& service, double now) {
    if (activities_.empty() || p_.stations[i].users.empty()) return service.round;
    if (p_.stations[i].as_they_come && !p_.stations[i].server) return activities_[i].stretch(now, service.round);
    return service.round * activities_[i].at(now);
  }

  /// s; how long the station's own share of a round takes from a given time on.
  double in_company(std::size_t i, double own, double now) {
    return activities_.empty() || p_.stations[i].users.empty() ? own : activities_[i].stretch(now, own / own_part_[i]);
  }

  /// s; a place does not end before it has done all its work.
  double least_end(std::size_t i) const {
    const Station& s = p_.stations[i];
    if (activities_.empty() || s.users.empty() || !activities_[i].is_last()) return 0;
    return activities_[i].begin() + static_cast<double>(whole_) * s.whole.round +
           static_cast<double>(p_.tails) * s.tail.round;
  }

  /// When a station that this slice has not reached yet was done with the slice `slots` before it.
  const Moments& a_round_ago(std::size_t i) const { return done_[i * slot_ + now_]; }
  /// s; when worker i may use the slot of the slice `slots` before this one again.
  Moments freed(std::size_t i) const {
    // Over the network the slot is free when the slice has left. Inside the node the next GPU must have read it.
    if (p_.stations[i + 1].server) return a_round_ago(sender_[i + 1]);
    return a_round_ago(i + 1) + p_.stations[i].latency;
  }

  const Pipeline& p_;
  std::int64_t whole_, total_;
  Busy busy_;
  const Busy* expected_;
  std::vector<Activity> activities_;
  std::vector<double> own_part_;
  std::size_t slot_;
  std::size_t now_ = 0, before_ = 0;   ///< slots of this slice and of the one before
  std::vector<Moments> done_;          ///< by station and slice modulo slots
  std::vector<std::size_t> consumer_;  ///< the next worker
  std::vector<std::size_t> sender_;    ///< of a server: the last server before the next worker
};

double run(const Pipeline& p, std::int64_t slices) {
  const bool shared = std::any_of(p.stations.begin(), p.stations.end(),
                                  [](const Station& s) { return !s.users.empty() || s.beside != no_station; });
  const bool apart = std::any_of(p.stations.begin(), p.stations.end(), [](const Station& s) { return s.as_they_come; });
  Busy busy(p.stations.size());
  double makespan = 0;
  for (int pass = 0; pass < (apart ? busy_passes_apart : busy_passes); ++pass) {
    Run run(p, slices, pass == 0 ? nullptr : &busy);
    const double before = makespan;
    makespan = run();
    if (!shared || (pass > 1 && std::abs(makespan - before) < settled * makespan)) break;
    if (pass < 2 || !apart) {
      busy = std::move(run.busy());
      continue;
    }
    // Go half of the distance, because whole steps may oscillate between two states.
    const auto middle = [](double a, double b) { return (a + b) / 2; };
    std::transform(busy.from.begin(), busy.from.end(), run.busy().from.begin(), busy.from.begin(), middle);
    std::transform(busy.until.begin(), busy.until.end(), run.busy().until.begin(), busy.until.begin(), middle);
    std::transform(busy.copied.begin(), busy.copied.end(), run.busy().copied.begin(), busy.copied.begin(), middle);
    std::transform(busy.worked.begin(), busy.worked.end(), run.busy().worked.begin(), busy.worked.begin(), middle);
  }
  return makespan;
}

}  // namespace

double pipeline_makespan(const Pipeline& p) {
  FABRICAST_CHECK(!p.stations.empty() && !p.stations.back().server && p.slices + p.tails > 0, "an empty pipeline");
  const auto stations = static_cast<std::int64_t>(p.stations.size());
  const std::int64_t period = std::int64_t{2} * p.slots, filled = std::int64_t{6} * p.slots + stations;
  if (p.slices <= filled + 2 * period) return run(p, p.slices);
  const std::int64_t a = filled + (p.slices - filled) % period, b = a + period;
  // Whole periods are left out, so that the last slice is in the same slot as in the full run.
  const double at_a = run(p, a), at_b = run(p, b);
  const std::int64_t periods = (p.slices - b) / period;
  return at_b + (at_b - at_a) * static_cast<double>(periods);
}

}  // namespace fabricast
