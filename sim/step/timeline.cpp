// Runs the program of a step (timeline.hpp): a discrete-event simulation of streams, whose events are the ends of
// activities.
//
// Each running activity has a remaining time at full pace and a pace. Its end is expected at
//
//   end = since + left / pace      (1)
//
// When a collective starts or ends, the paces of the collectives in flight change, since they share links
// (traffic.hpp), and so does the pace of computation on their actors. A change adds a new expected end and makes the
// old one invalid by its version, because a priority queue cannot move an entry.
#include "fabricast/step/timeline.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "fabricast/core/error.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast {

namespace {

constexpr std::uint32_t none = 0xffffffff;
/// Computation keeps at least this fraction of its speed, however many collectives run concurrently.
constexpr double least_pace = 0.1;

/// The activities that wait for each activity, because of a dependency or because of the order on a stream.
struct Followers {
  std::vector<std::uint32_t> first, list;  ///< those of activity i: list[first[i]] .. list[first[i + 1] - 1]
  std::vector<std::uint32_t> waits;        ///< by activity: how many others it still waits for
};

/// Numbers the streams of all actors: stream s of actor a has number first[a] + s.
std::vector<std::uint32_t> first_streams(const Program& program) {
  std::vector<std::uint32_t> first(program.actors.size() + 1, 0);
  for (std::size_t a = 0; a < program.actors.size(); ++a)
    first[a + 1] = first[a] + static_cast<std::uint32_t>(program.actors[a].streams.size());
  return first;
}

// The order on a stream is a dependency, too: each activity waits for the one queued before it on each of its streams.
Followers followers_of(const Program& program) {
  const auto n = program.activities.size();
  const std::vector<std::uint32_t> streams = first_streams(program);
  Followers f;
  f.first.assign(n + 1, 0);
  f.waits.assign(n, 0);
  // Two passes over the same pairs: one counts them, the other stores them.
  const auto for_each_pair = [&](auto use) {
    std::vector<std::uint32_t> last(streams.back(), none);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (const std::uint32_t d : program.dependencies_of(i)) use(d, i);
      for (const Place& place : program.places_of(i)) {
        std::uint32_t& before = last[streams[place.actor] + place.stream];
        if (before != none) use(before, i);
        before = i;
      }
    }
  };
  for_each_pair([&](std::uint32_t before, std::uint32_t after) { ++f.first[before + 1], ++f.waits[after]; });
  std::partial_sum(f.first.begin(), f.first.end(), f.first.begin());
  f.list.resize(f.first.back());
  std::vector<std::uint32_t> next(f.first.begin(), f.first.end() - 1);
  for_each_pair([&](std::uint32_t before, std::uint32_t after) { f.list[next[before]++] = after; });
  return f;
}

class Run {
 public:
  Run(const Program& program, Traffic& traffic, const TimelineOptions& options)
      : program_(program), traffic_(traffic), options_(options), followers_(followers_of(program)) {
    const auto n = program.activities.size();
    timeline_.start.resize(n);
    timeline_.end.resize(n);
    timeline_.actors.resize(program.actors.size());
    state_.resize(n);
    released_by_.assign(n, none);
    collectives_at_.assign(program.actors.size(), 0);
    lost_at_.assign(program.actors.size(), 0);
    computing_.assign(program.actors.size(), none);
    idle_since_.resize(program.actors.size());
    last_of_.assign(program.actors.size(), none);
  }

  Timeline run() {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < followers_.waits.size(); ++i)
      if (followers_.waits[i] == 0) ready.push_back(i);
    start_all(ready);
    std::size_t ended = 0;
    while (!ends_.empty()) {
      const End next = ends_.top();
      ends_.pop();
      // An outdated end: the pace has changed since.
      if (next.version != state_[next.activity].version) continue;
      if ((++ended & 0xffff) == 0) stop_if_requested();
      now_ = next.time;
      ready.clear();
      end(next.activity, ready);
      // All activities that end at the same time end before any of their followers starts.
      while (!ends_.empty() && ends_.top().time <= now_) {
        const End also = ends_.top();
        ends_.pop();
        if (also.version != state_[also.activity].version) continue;
        ++ended;
        end(also.activity, ready);
      }
      // Starts in the order of numbers, so that results do not depend on the order in which ends were found.
      std::sort(ready.begin(), ready.end());
      start_all(ready);
    }
    FABRICAST_CHECK(ended == program_.activities.size(), "activities wait for each other in a cycle");
    timeline_.time = now_;
    finish();
    return std::move(timeline_);
  }

 private:
  /// The progress of a running activity.
  struct State {
    Seconds left;  ///< remaining time at full pace, at the time `since`
    Seconds since;
    double pace = 0;
    std::uint32_t version = 0;  ///< only the expected end with this version is valid
  };
  /// An expected end. A change of pace adds another one and makes this one invalid.
  struct End {
    Seconds time;
    std::uint32_t activity, version;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : activity > other.activity;
    }
  };

  /// The pace of computation, given the collectives that run on its actor.
  double pace_of(std::uint32_t activity) const {
    const Place place = program_.places_of(activity).front();
    return place.stream == 0 ? std::max(least_pace, 1 - lost_at_[place.actor]) : 1;
  }
  /// The fraction of its speed that computation loses to a collective.
  double lost_to(const Activity& collective) const {
    return options_.interference.empty() ? 0 : options_.interference[collective.collective];
  }

  // Accounts for the time at the old pace before (1) is applied with the new one.
  void set_pace(std::uint32_t activity, double pace) {
    State& s = state_[activity];
    if (pace == s.pace) return;
    s.left -= (now_ - s.since) * s.pace;
    s.since = now_;
    s.pace = pace;
    ends_.push({now_ + std::max(Seconds{}, s.left) / pace, activity, ++s.version});
  }

  void start_all(const std::vector<std::uint32_t>& ready) {
    bool traffic = false;
    for (const std::uint32_t i : ready) {
      const Activity& a = program_.activities[i];
      timeline_.start[i] = now_;
      state_[i].since = now_;
      if (a.is_collective()) {
        // Several calls of one kind are one activity. The remaining time is that of a collective alone; its pace is
        // below 1 while others share its links.
        state_[i].left = a.calls * traffic_.alone(a.collective).makespan;
        // A collective that shares no link with any other keeps its pace, and needs no update.
        if (traffic_.is_independent(a.collective))
          set_pace(i, 1);
        else {
          in_flight_.push_back({a.collective, i});
          traffic = true;
        }
        for (const Place& place : program_.places_of(i)) {
          if (place.stream == 0) attribute_wait(i, place.actor);
          ++collectives_at_[place.actor];
          lost_at_[place.actor] += lost_to(a);
          change_computing(place.actor);
        }
      } else {
        const Place place = program_.places_of(i).front();
        state_[i].left = a.time;
        if (place.stream == 0) {
          if (!options_.slower.empty()) state_[i].left *= options_.slower[place.actor];
          attribute_wait(i, place.actor);
          computing_[place.actor] = i;
        }
        set_pace(i, pace_of(i));
      }
    }
    // Once for all starts and ends of this moment: each update solves a sharing problem.
    if (traffic || traffic_changed_) change_paces();
    traffic_changed_ = false;
  }

  void end(std::uint32_t i, std::vector<std::uint32_t>& ready) {
    const Activity& a = program_.activities[i];
    timeline_.end[i] = now_;
    ++state_[i].version;
    if (a.is_collective()) {
      if (!traffic_.is_independent(a.collective)) {
        std::erase_if(in_flight_, [&](const InFlight& f) { return f.activity == i; });
        traffic_changed_ = true;
      }
      for (const Place& place : program_.places_of(i)) {
        last_of_[place.actor] = i;
        // Without collectives the loss is exactly 0; subtraction would leave a rounding error.
        lost_at_[place.actor] = --collectives_at_[place.actor] == 0 ? 0 : lost_at_[place.actor] - lost_to(a);
        change_computing(place.actor);
        if (place.stream == 0) {
          timeline_.actors[place.actor].exposed[static_cast<std::size_t>(a.part)] += now_ - timeline_.start[i];
          idle_since_[place.actor] = now_;
        }
      }
    } else if (const Place place = program_.places_of(i).front(); place.stream == 0) {
      ActorTimes& times = timeline_.actors[place.actor];
      times.busy[static_cast<std::size_t>(a.part)] += time_at(i, place.actor);
      times.interference += now_ - timeline_.start[i] - time_at(i, place.actor);
      idle_since_[place.actor] = now_;
      computing_[place.actor] = none;
      last_of_[place.actor] = i;
    }
    for (std::uint32_t k = followers_.first[i]; k < followers_.first[i + 1]; ++k) {
      const std::uint32_t follower = followers_.list[k];
      if (--followers_.waits[follower] > 0) continue;
      // The last one that it waited for, which is the cause of its wait.
      released_by_[follower] = i;
      ready.push_back(follower);
    }
  }

  /// Time of computation at full pace.
  Seconds time_at(std::uint32_t i, std::uint32_t actor) const {
    return program_.activities[i].time * (options_.slower.empty() ? 1 : options_.slower[actor]);
  }

  /// Updates the pace of an actor's computation after collectives have started or ended there.
  void change_computing(std::uint32_t actor) {
    const std::uint32_t i = computing_[actor];
    if (i != none) set_pace(i, pace_of(i));
  }

  /// Updates the pace of all collectives in flight.
  void change_paces() {
    std::sort(in_flight_.begin(), in_flight_.end());
    kinds_.clear();
    for (const InFlight& f : in_flight_) kinds_.push_back(f.kind);
    paces_.resize(kinds_.size());
    traffic_.paces(kinds_, paces_);
    for (std::size_t k = 0; k < kinds_.size(); ++k) set_pace(in_flight_[k].activity, paces_[k]);
  }

  bool is_at(std::uint32_t activity, std::uint32_t actor) const {
    const auto places = program_.places_of(activity);
    return std::any_of(places.begin(), places.end(), [&](const Place& p) { return p.actor == actor; });
  }

  /// Whether an activity ran on the actor, but not as computation on its first stream: a collective, or its host.
  bool is_beside(std::uint32_t activity, std::uint32_t actor) const {
    if (program_.activities[activity].is_collective()) return is_at(activity, actor);
    const Place place = program_.places_of(activity).front();
    return place.actor == actor && place.stream != 0;
  }

  /// Attributes a wait of an actor's first stream, from `from` to `to`, to its causes. `cause` is the last activity
  /// that it waited for. The wait before `cause` started is attributed to what released `cause`, and so on; what
  /// remains was caused by other actors.
  void attribute(std::uint32_t cause, std::uint32_t actor, Seconds from, Seconds to) {
    ActorTimes& times = timeline_.actors[actor];
    while (to > from && cause != none && is_beside(cause, actor)) {
      const Seconds begin = std::max(from, timeline_.start[cause]);
      const Activity& a = program_.activities[cause];
      (a.is_collective() ? times.exposed : times.busy)[static_cast<std::size_t>(a.part)] += to - begin;
      to = begin;
      cause = released_by_[cause];
    }
    times.bubble += to - from;
  }
  void attribute_wait(std::uint32_t i, std::uint32_t actor) {
    if (now_ > idle_since_[actor]) attribute(released_by_[i], actor, idle_since_[actor], now_);
  }

  /// Attributes the time after an actor's last computation: to its own collectives, then to other actors.
  void finish() {
    for (std::uint32_t actor = 0; actor < timeline_.actors.size(); ++actor) {
      const std::uint32_t last = last_of_[actor];
      if (last == none || idle_since_[actor] >= now_) continue;
      const Seconds end = timeline_.end[last];
      attribute(last, actor, idle_since_[actor], std::max(idle_since_[actor], end));
      timeline_.actors[actor].bubble += now_ - std::max(idle_since_[actor], end);
    }
  }

  struct InFlight {
    std::uint32_t kind, activity;
    bool operator<(const InFlight& other) const {
      return kind != other.kind ? kind < other.kind : activity < other.activity;
    }
  };

  const Program& program_;
  Traffic& traffic_;
  const TimelineOptions& options_;
  Followers followers_;
  Timeline timeline_;
  std::vector<State> state_;
  std::vector<std::uint32_t> released_by_;     ///< by activity: the last one that it waited for
  std::vector<std::uint32_t> collectives_at_;  ///< by actor: number of running collectives
  std::vector<double> lost_at_;                ///< by actor: fraction of its speed that computation loses to them
  std::vector<std::uint32_t> computing_;       ///< by actor: the computation on its first stream, or none
  std::vector<Seconds> idle_since_;            ///< by actor: end of the last activity on its first stream
  std::vector<std::uint32_t> last_of_;         ///< by actor: the last activity that ended
  std::vector<InFlight> in_flight_;            ///< collectives that others may slow down
  std::vector<std::uint32_t> kinds_;
  std::vector<double> paces_;
  bool traffic_changed_ = false;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  Seconds now_;
};

}  // namespace

Timeline run_program(const Program& program, Traffic& traffic, const TimelineOptions& options) {
  return Run(program, traffic, options).run();
}

}  // namespace fabricast
