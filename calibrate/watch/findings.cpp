// Findings of an interval (watch.hpp): late ranks, slow parts, hangs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "../live/late.hpp"
#include "fabricast/calibrate/watch.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_named = 20;

/// A communicator is slow if its median is this much above the usual one, and this many times its usual deviation.
constexpr double slow_ratio = 1.2, slow_deviations = 6;
constexpr int least_intervals = 2;

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (names.size() < most_named) names.push_back(name);
}

std::string shown_name(const WatchedCommunicator& c) { return c.name.empty() ? c.id : c.id + " (" + c.name + ")"; }

/// A set of places of which all ranks of a host, if they are, are named as the host.
void add_places(const WatchInterval& in, const std::set<std::uint32_t>& places, JobFinding finding,
                std::vector<JobFinding>& found) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> hosts;  // of the places: all, and those in the set
  for (std::size_t i = 0; i < in.places.size(); ++i) {
    auto& [all, here] = hosts[host_of_place(in.places[i])];
    ++all;
    here += places.contains(static_cast<std::uint32_t>(i)) ? 1 : 0;
  }
  for (const auto& [host, count] : hosts) {
    // More than half of several: what they share is the host.
    if (count.first < 3 || count.second * 2 <= count.first) continue;
    finding.part = "host";
    finding.place = host;
    found.push_back(finding);
  }
  for (const std::uint32_t place : places) {
    const auto& count = hosts[host_of_place(in.places[place])];
    if (count.first >= 3 && count.second * 2 > count.first) continue;
    finding.part = "rank";
    finding.place = in.places[place];
    found.push_back(finding);
  }
}

/// Late places: by place, the communicators and the mean wait.
struct LatePlace {
  std::vector<std::string> communicators;
  double waited_us = 0;
  std::int64_t calls = 0;
};

void find_late(const WatchInterval& in, std::vector<JobFinding>& found) {
  std::map<std::uint32_t, LatePlace> late;
  std::set<std::uint32_t> waiting;
  for (const WatchedCommunicator& c : in.communicators) {
    if (c.judged < live::least_judged) continue;
    const double rate = static_cast<double>(c.late) / static_cast<double>(c.judged * c.ranks);
    bool any = false;
    for (const WatchedRank& r : c.members) {
      if (r.place == WatchedRank::nowhere || !live::later_than_chance(c.judged, r.late, rate)) continue;
      any = true;
      LatePlace& at = late[r.place];
      add_name(at.communicators, shown_name(c));
      at.waited_us += r.waited_us;
      at.calls += r.late;
    }
    if (!any) continue;
    for (const WatchedRank& r : c.members)
      if (!live::later_than_chance(c.judged, r.late, rate)) waiting.insert(r.place);
  }
  // Who waits for a late rank in one communicator comes late to the next one because of it.
  std::set<std::uint32_t> roots;
  for (const auto& [place, at] : late)
    if (!waiting.contains(place)) roots.insert(place);
  // In a circle of waits nobody is the first, so all are named.
  if (roots.empty())
    for (const auto& [place, at] : late) roots.insert(place);
  if (roots.empty()) return;
  std::set<std::uint32_t> done;
  for (const std::uint32_t place : roots) {
    if (done.contains(place)) continue;
    // Ranks of one host are one finding, whose wait is the longest of theirs.
    JobFinding f{"late", "rank", in.places[place], {}, 0, {}};
    std::set<std::uint32_t> together;
    for (const std::uint32_t other : roots) {
      if (host_of_place(in.places[other]) != host_of_place(in.places[place])) continue;
      together.insert(other);
      done.insert(other);
      const LatePlace& at = late.at(other);
      f.ratio = std::max(f.ratio, at.waited_us / static_cast<double>(std::max<std::int64_t>(1, at.calls)));
      for (const std::string& name : at.communicators)
        if (std::find(f.communicators.begin(), f.communicators.end(), name) == f.communicators.end())
          add_name(f.communicators, name);
    }
    f.detail = fmt::format("most ranks wait {:.1f} us for it", f.ratio);
    add_places(in, together, std::move(f), found);
  }
}

/// How much longer than usual the calls of a size take; 1 if that is not known or not more.
double slowdown(const WatchedSize& s) {
  if (s.calls < 3 || s.intervals < least_intervals) return 1;
  const double over = std::log(s.median_us()) - static_cast<double>(s.usual);
  // Medians of few calls vary more than their deviation so far may show.
  const double deviation = std::max(0.02, static_cast<double>(s.usual_deviation));
  return over > std::log(slow_ratio) && over > slow_deviations * deviation ? std::exp(over) : 1;
}

/// The slowest size of a communicator that is slow in most of its sizes; 1 if it is not.
double slowdown(const WatchedCommunicator& c) {
  std::size_t slow = 0, known = 0;
  double worst = 1;
  for (const WatchedSize& s : c.sizes) {
    if (s.calls < 3 || s.intervals < least_intervals) continue;
    ++known;
    const double ratio = slowdown(s);
    slow += ratio > 1 ? 1 : 0;
    worst = std::max(worst, ratio);
  }
  return slow * 2 > known ? worst : 1;
}

void find_slow(const WatchInterval& in, std::vector<JobFinding>& found) {
  std::vector<const WatchedCommunicator*> slow;
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> places;  // communicators: slow, not slow
  double worst = 1;
  for (const WatchedCommunicator& c : in.communicators) {
    const bool known = std::any_of(c.sizes.begin(), c.sizes.end(),
                                   [](const WatchedSize& s) { return s.calls >= 3 && s.intervals >= least_intervals; });
    // A communicator within a host says nothing about NICs.
    if (!known || c.nodes == 1) continue;
    const double ratio = slowdown(c);
    if (ratio > 1) slow.push_back(&c);
    worst = std::max(worst, ratio);
    for (const WatchedRank& r : c.members) {
      if (r.place == WatchedRank::nowhere) continue;
      auto& [bad, good] = places[r.place];
      ++(ratio > 1 ? bad : good);
    }
  }
  if (slow.empty()) return;
  std::set<std::uint32_t> shared;
  for (const auto& [place, count] : places)
    if (count.first == slow.size() && count.second == 0) shared.insert(place);
  JobFinding f{"slow", "communicator", {}, {}, worst, {}};
  for (const WatchedCommunicator* c : slow) add_name(f.communicators, shown_name(*c));
  if (slow.size() > 1 && !shared.empty() && shared.size() <= slow.front()->members.size() / 2) {
    f.detail =
        fmt::format("{} communicators across hosts, of those with it all, take up to {:.2f} times as long as usual",
                    slow.size(), worst);
    return add_places(in, shared, std::move(f), found);
  }
  for (const WatchedCommunicator* c : slow) {
    JobFinding one{"slow", "communicator", c->id, {shown_name(*c)}, slowdown(*c), {}};
    one.detail = fmt::format("takes {:.2f} times as long as usual, all ranks alike", one.ratio);
    found.push_back(std::move(one));
    if (found.size() >= most_named) return;
  }
}

const WatchedState* state_before(const WatchInterval& in, const std::string& communicator, int rank) {
  const auto c = in.before.find(communicator);
  if (c == in.before.end()) return nullptr;
  const auto r = c->second.find(rank);
  return r == c->second.end() ? nullptr : &r->second;
}

// Ranks that launched a call wait for those that did not. In one snapshot that is usual, but not if no rank has launched
// anything since the last one. Then the one to blame is waited for and waits nowhere itself.
void find_hangs(const WatchInterval& in, std::vector<JobFinding>& found) {
  std::map<std::string, std::vector<std::string>> waited_for;  // communicators by place
  std::set<std::string> waiting, missing;
  for (const auto& [id, ranks] : in.now) {
    std::int64_t most = -1;
    bool moved = false;
    for (const auto& [rank, state] : ranks) {
      if (!state.error.empty())
        found.push_back({"error", "rank", state.place, {id}, 0, fmt::format("rank {}: {}", rank, state.error)});
      if (state.missing) {
        // Said once, however many communicators it is in.
        if (missing.insert(state.place).second)
          found.push_back({"missing", "rank", state.place, {id}, 0, fmt::format("rank {} does not answer", rank)});
        continue;
      }
      most = std::max(most, state.launched);
      const WatchedState* before = state_before(in, id, rank);
      moved = moved || !before || before->launched != state.launched;
    }
    if (moved) continue;
    for (const auto& [rank, state] : ranks) {
      if (state.missing) continue;
      if (state.launched < most)
        waited_for[state.place].push_back(id);
      else if (std::any_of(ranks.begin(), ranks.end(),
                           [&](const auto& r) { return r.second.missing || r.second.launched < most; }))
        waiting.insert(state.place);
    }
  }
  // What waits for a missing rank is explained by it.
  if (!missing.empty()) return;
  bool any = false;
  for (const auto& [place, communicators] : waited_for) any = any || !waiting.contains(place);
  for (const auto& [place, communicators] : waited_for) {
    if (any && waiting.contains(place)) continue;
    JobFinding f{"hang", "rank", place, {}, 0, {}};
    for (const std::string& id : communicators) add_name(f.communicators, id);
    f.detail = fmt::format(
        "has not launched a call that others have launched in {} communicator{}; no rank of {} has moved",
        communicators.size(), communicators.size() == 1 ? "" : "s", communicators.size() == 1 ? "it" : "them");
    found.push_back(std::move(f));
  }
}

}  // namespace

std::string host_of_place(const std::string& place) { return place.substr(0, place.find(',')); }

double WatchedSize::median_us() const {
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(calls, kept));
  if (count == 0) return 0;
  // The ring's newest values, wherever they begin.
  std::array<float, kept> values{};
  for (std::size_t i = 0; i < count; ++i) values[i] = last[(static_cast<std::size_t>(total) + kept * 2 - 1 - i) % kept];
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<double>(*middle);
}

std::vector<JobFinding> findings(const WatchInterval& interval) {
  std::vector<JobFinding> found;
  find_late(interval, found);
  find_slow(interval, found);
  find_hangs(interval, found);
  std::stable_sort(found.begin(), found.end(), [](const JobFinding& a, const JobFinding& b) {
    return std::tie(a.kind, a.part, a.place) < std::tie(b.kind, b.part, b.place);
  });
  return found;
}

void next_interval(WatchInterval& interval) {
  for (WatchedCommunicator& c : interval.communicators) {
    for (WatchedSize& s : c.sizes) {
      if (s.calls >= 3 && slowdown(s) == 1) {
        const auto median = static_cast<float>(std::log(s.median_us()));
        // Means over about the last ten intervals.
        const float share = 1.0F / static_cast<float>(std::min(s.intervals + 1, 10));
        if (s.intervals > 0) s.usual_deviation += (std::abs(median - s.usual) - s.usual_deviation) * share;
        s.usual += (median - s.usual) * share;
        ++s.intervals;
      }
      s.calls = 0;
    }
    for (WatchedRank& r : c.members) {
      r.late = 0;
      r.waited_us = 0;
    }
    c.judged = c.late = 0;
  }
  interval.before = std::move(interval.now);
  interval.now.clear();
}

}  // namespace fabricast
