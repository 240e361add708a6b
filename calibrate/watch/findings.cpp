// Findings of half an interval (watch.hpp): late ranks, slow parts, hangs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "../live/late.hpp"
#include "fabricast/calibrate/watch.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_named = 20;

/// A communicator is slow if its median is this much above the usual one, and this many times its usual deviation.
constexpr double slow_ratio = 1.2, slow_deviations = 6;
constexpr int least_halves = 2;

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

/// What is counted of a half, or of both.
struct Counted {
  bool both;
  WatchedCommunicator::Judged of(const WatchedCommunicator& c) const {
    return both ? WatchedCommunicator::Judged{c.now.calls + c.before.calls, c.now.late + c.before.late} : c.now;
  }
  WatchedRank::Late of(const WatchedRank& r) const {
    return both ? WatchedRank::Late{r.now.calls + r.before.calls, r.now.waited_us + r.before.waited_us} : r.now;
  }
};

/// Waits are usual after this many halves, with a deviation of at least this.
constexpr int enough_halves = 4;
constexpr double least_deviation = 0.2;

/// ln of the time, us, that most ranks waited per call of this half for a rank. What is below 1 us does not count.
double log_wait(const WatchedCommunicator& c, const WatchedRank& r) {
  return std::log(std::max(1.0, static_cast<double>(r.now.waited_us) / static_cast<double>(c.now.calls)));
}

/// Whether the others wait much longer for this rank than they usually do for the one they wait longest for, and it is
/// late by more than chance, if not at the level of the whole interval: that takes more calls than half of it has.
bool later_than_usual(const WatchedCommunicator& c, const WatchedRank& r, double rate) {
  constexpr double deviations = 6, level = 1e-3;
  if (c.halves < enough_halves || std::int64_t{2} * r.now.calls <= c.now.calls) return false;
  const double deviation = std::max(least_deviation, static_cast<double>(c.usual_wait_deviation));
  return log_wait(c, r) > static_cast<double>(c.usual_wait) + deviations * deviation &&
         live::later_than_chance(c.now.calls, r.now.calls, rate, level);
}

bool is_late(const WatchedCommunicator& c, const WatchedRank& r, Counted counted, double rate) {
  return live::later_than_chance(counted.of(c).calls, counted.of(r).calls, rate) ||
         (!counted.both && later_than_usual(c, r, rate));
}

double late_rate(const WatchedCommunicator::Judged& judged, int ranks) {
  return static_cast<double>(judged.late) / static_cast<double>(judged.calls * ranks);
}

void find_late(const WatchInterval& in, Counted counted, std::vector<JobFinding>& found) {
  std::map<std::uint32_t, LatePlace> late;
  std::set<std::uint32_t> waiting;
  for (const WatchedCommunicator& c : in.communicators) {
    const WatchedCommunicator::Judged judged = counted.of(c);
    if (judged.calls < live::least_judged) continue;
    const double rate = late_rate(judged, c.ranks);
    bool any = false;
    for (const WatchedRank& r : c.members) {
      const WatchedRank::Late here = counted.of(r);
      if (r.place == WatchedRank::nowhere || !is_late(c, r, counted, rate)) continue;
      any = true;
      LatePlace& at = late[r.place];
      add_name(at.communicators, shown_name(c));
      at.waited_us += static_cast<double>(here.waited_us);
      at.calls += here.calls;
    }
    if (!any) continue;
    for (const WatchedRank& r : c.members)
      if (!is_late(c, r, counted, rate)) waiting.insert(r.place);
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
  if (s.judged() < 3 || s.halves < least_halves) return 1;
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
    if (s.judged() < 3 || s.halves < least_halves) continue;
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
                                   [](const WatchedSize& s) { return s.judged() >= 3 && s.halves >= least_halves; });
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
    f.detail = fmt::format("all {} of its communicators across hosts take up to {:.2f} times as long as usual",
                           slow.size(), worst);
    return add_places(in, shared, std::move(f), found);
  }
  for (const WatchedCommunicator* c : slow) {
    JobFinding one{"slow", "communicator", c->id, {shown_name(*c)}, slowdown(*c), {}};
    one.detail = fmt::format("takes {:.2f} times as long as usual, on all ranks equally", one.ratio);
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
  waited_for.erase(std::string());
  // RAS's text does not say who waits. Who waits in one communicator is behind in the others only, so who hangs is behind
  // in more of them than who waits.
  if (waiting.contains(std::string())) {
    std::size_t most = 0;
    for (const auto& [place, communicators] : waited_for) most = std::max(most, communicators.size());
    std::erase_if(waited_for, [&](const auto& place) { return place.second.size() < most; });
  }
  bool any = false;
  for (const auto& [place, communicators] : waited_for) any = any || !waiting.contains(place);
  for (const auto& [place, communicators] : waited_for) {
    if (any && waiting.contains(place)) continue;
    JobFinding f{"hang", "rank", place, {}, 0, {}};
    for (const std::string& id : communicators) add_name(f.communicators, id);
    f.detail = fmt::format("has not launched a call that others have launched in {}; no rank of {} makes progress",
                           counted(communicators.size(), "communicator"), communicators.size() == 1 ? "it" : "them");
    found.push_back(std::move(f));
  }
}

/// Takes the longest wait of a half in which no rank was late into what is usual.
void take_wait(WatchedCommunicator& c) {
  if (c.now.calls < live::least_judged) return;
  const double rate = late_rate(c.now, c.ranks);
  double longest = 0;
  for (const WatchedRank& r : c.members) {
    if (is_late(c, r, {false}, rate)) return;
    longest = std::max(longest, log_wait(c, r));
  }
  const float share = 1.0F / static_cast<float>(std::min(c.halves + 1, 10));
  auto wait = static_cast<float>(longest);
  // A half in which a fault begins is unusual and not yet late: it must not make the next one usual.
  if (c.halves >= enough_halves)
    wait = std::min(wait, c.usual_wait + 2 * std::max(static_cast<float>(least_deviation), c.usual_wait_deviation));
  if (c.halves > 0) c.usual_wait_deviation += (std::abs(wait - c.usual_wait) - c.usual_wait_deviation) * share;
  c.usual_wait += (wait - c.usual_wait) * share;
  ++c.halves;
}

}  // namespace

std::string host_of_place(const std::string& place) { return place.substr(0, place.find(',')); }

double WatchedSize::median_us() const {
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(judged(), kept));
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
  find_late(interval, {false}, found);
  if (found.empty()) find_late(interval, {true}, found);
  find_slow(interval, found);
  find_hangs(interval, found);
  std::stable_sort(found.begin(), found.end(), [](const JobFinding& a, const JobFinding& b) {
    return std::tie(a.kind, a.part, a.place) < std::tie(b.kind, b.part, b.place);
  });
  return found;
}

void next_half(WatchInterval& interval) {
  for (WatchedCommunicator& c : interval.communicators) {
    take_wait(c);
    for (WatchedSize& s : c.sizes) {
      if (s.judged() >= 3 && slowdown(s) == 1) {
        const auto median = static_cast<float>(std::log(s.median_us()));
        // Means over about the last ten halves.
        const float share = 1.0F / static_cast<float>(std::min(s.halves + 1, 10));
        if (s.halves > 0) s.usual_deviation += (std::abs(median - s.usual) - s.usual_deviation) * share;
        s.usual += (median - s.usual) * share;
        ++s.halves;
      }
      s.calls_before = s.calls;
      s.calls = 0;
    }
    for (WatchedRank& r : c.members) {
      r.before = r.now;
      r.now = {};
    }
    c.before = c.now;
    c.now = {};
  }
  // A status that is written once in an interval is compared with that of the last one.
  if (!interval.now.empty()) interval.before = std::move(interval.now);
  interval.now.clear();
}

}  // namespace fabricast
