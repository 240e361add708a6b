// Computes (1) of meeting.hpp in three steps:
//
//   1. each kind adds its loads to its links, as often as it is in flight
//   2. kinds on the same contended link are joined to sets; kinds on no contended link keep a pace of 1
//   3. the channels of each set share the contended links, max-min
//
// The same flights recur in a step, so paces are cached by flight. Paces of joined sets are cached as well, because
// flights that differ only in a kind without contention have the same sets.
#include "meeting.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "fabricast/core/rng.hpp"
#include "fabricast/core/stop.hpp"
#include "meeting_rule.hpp"

namespace fabricast {

namespace {

/// No kind has used the resource yet. This differs from `none`: behind no other.
constexpr std::uint32_t untouched = Collective::none - 1;

/// Disjoint sets of numbers that can be merged. The lowest member represents a set.
class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void merge(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

std::size_t FlightHash::operator()(const Flight& flight) const {
  std::uint64_t hash = flight.size();
  for (const std::uint32_t kind : flight) hash = mix64(hash ^ kind);
  return hash;
}

Meetings::Meetings(const CollectiveTimer& timer, const std::vector<std::unique_ptr<Collective>>& collectives)
    : timer_(timer), collectives_(collectives), load_(timer.resources(), 0), behind_(timer.resources(), untouched) {
  if (!timer.others()) return;
  // The load of other jobs is constant, because it is an average over time.
  others_load_.assign(timer.resources(), 0);
  for (const Background::Use& u : timer.others()->uses)
    others_load_[u.resource] += u.use * timer.others()->rate[u.item].value;
}

namespace {

/// Whether two ascending ranges have a number in common.
template <class Range, class Number>
bool have_common(const Range& a, const Range& b, Number number) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (number(*i) == number(*j)) return true;
    number(*i) < number(*j) ? ++i : ++j;
  }
  return false;
}

}  // namespace

bool Meetings::meet(std::uint32_t a, std::uint32_t b) {
  constexpr signed char unknown = -1;
  const auto [low, high] = std::minmax(a, b);
  if (meet_.size() <= high) meet_.resize(high + 1);
  std::vector<signed char>& row = meet_[high];
  if (row.empty()) row.assign(high + 1, unknown);
  signed char& known = row[low];
  if (known != unknown) return known != 0;
  const Collective &x = *collectives_[a], &y = *collectives_[b];
  known = have_common(x.inside, y.inside, [](const Collective::Load& l) { return l.resource; }) ||
          have_common(x.fabric->links(), y.fabric->links(), [](const LinkUses::Link& l) { return l.link; });
  return known != 0;
}

const std::vector<double>& Meetings::paces(const Flight& flight) {
  const auto it = flights_.find(flight);
  if (it != flights_.end()) return it->second;
  return flights_.emplace(flight, solve(flight)).first->second;
}

void Meetings::add_loads(const Flight& flight, const std::vector<double>& times) {
  for (std::size_t k = 0; k < flight.size(); ++k)
    collectives_[flight[k]]->for_each_load([&](const Collective::Load& load) {
      load_[load.resource] += times[k] * load.part;
      // The resource is behind another only if it is so for all kinds: a kind that uses only this one could fill it
      // first.
      std::uint32_t& behind = behind_[load.resource];
      behind = behind == untouched || behind == load.behind ? load.behind : Collective::none;
    });
}

void Meetings::clear_loads(const Flight& flight) {
  // Only where loads were added. A pass over all resources for each flight would cost more.
  for (const std::uint32_t kind : flight)
    collectives_[kind]->for_each_load(
        [&](const Collective::Load& load) { load_[load.resource] = 0, behind_[load.resource] = untouched; });
}

bool Meetings::is_contended(std::uint32_t resource) const {
  // Other jobs may use this link but not the one that it is behind.
  if (others_load_.empty() || others_load_[resource] == 0)
    return load_[resource] > full && behind_[resource] == Collective::none;
  return load_[resource] + others_load_[resource] > full;
}

void Meetings::add_others(std::uint32_t resource, std::uint32_t first, std::vector<LinkUse>& uses) const {
  const std::vector<Background::Use>& all = timer_.others()->uses;
  auto it =
      std::lower_bound(all.begin(), all.end(), resource, [](const auto& u, std::uint32_t r) { return u.resource < r; });
  for (; it != all.end() && it->resource == resource; ++it)
    uses.push_back({resource, first + it->item, use_where_contended(timer_.rule(), *it)});
}

std::vector<double> Meetings::solve(const Flight& flight) {
  stop_if_requested();
  Flight kinds;
  std::vector<double> times;
  for (const std::uint32_t kind : flight) {
    // A kind that is in flight twice counts once, with twice its uses.
    if (kinds.empty() || kinds.back() != kind) {
      kinds.push_back(kind);
      times.push_back(0);
    }
    times.back() += 1;
  }
  add_loads(kinds, times);
  // Every user of a contended link joins the set of its first user.
  Sets sets(kinds.size());
  std::unordered_map<std::uint32_t, std::uint32_t> first_user;
  std::vector<bool> contended(kinds.size(), false);
  for (std::uint32_t k = 0; k < kinds.size(); ++k)
    collectives_[kinds[k]]->for_each_load([&](const Collective::Load& load) {
      if (!is_contended(load.resource)) return;
      contended[k] = true;
      sets.merge(k, first_user.try_emplace(load.resource, k).first->second);
    });
  std::vector<double> pace(kinds.size(), 1);
  for (std::uint32_t k = 0; k < kinds.size(); ++k) {
    if (!contended[k] || sets.find(k) != k) continue;
    Flight joined, key;
    std::vector<std::uint32_t> members;
    std::vector<double> own_times;
    for (std::uint32_t m = k; m < kinds.size(); ++m) {
      if (!contended[m] || sets.find(m) != k) continue;
      members.push_back(m);
      joined.push_back(kinds[m]);
      own_times.push_back(times[m]);
      // The key has repetitions, because twice in flight is a different case from once.
      key.insert(key.end(), static_cast<std::size_t>(times[m]), kinds[m]);
    }
    auto it = joined_.find(key);
    if (it == joined_.end()) it = joined_.emplace(key, share(joined, own_times)).first;
    for (std::size_t m = 0; m < members.size(); ++m) pace[members[m]] = it->second[m];
  }
  // share() needs the loads to find contended links, so they are cleared only now.
  clear_loads(kinds);
  std::vector<double> paces;
  std::size_t k = 0;
  for (const std::uint32_t kind : flight) {
    if (kinds[k] != kind) ++k;
    paces.push_back(pace[k]);
  }
  return paces;
}

/// Adds the uses of contended links inside nodes. `load_` must hold the loads of the flight.
void Meetings::add_inside(const Flight& flight, const std::vector<double>& times,
                          const std::vector<std::uint32_t>& base, std::vector<LinkUse>& uses) const {
  // By node, because a node that looks to all kinds like an earlier one adds no new links to the problem.
  std::map<std::uint32_t, std::vector<std::uint32_t>> contended;  // links by node
  for (const std::uint32_t kind : flight)
    for (const Collective::Load& load : collectives_[kind]->inside)
      if (is_contended(load.resource)) contended[timer_.node_of(load.resource)].push_back(load.resource);
  std::set<std::uint64_t> seen;
  for (auto& [node, resources] : contended) {
    std::uint64_t signature = 0;
    std::vector<std::size_t> place(flight.size());
    for (std::size_t k = 0; k < flight.size(); ++k) {
      const Collective& x = *collectives_[flight[k]];
      const auto it = std::lower_bound(x.teams->nodes.begin(), x.teams->nodes.end(), node);
      const bool there = it != x.teams->nodes.end() && *it == node;
      place[k] = there ? static_cast<std::size_t>(it - x.teams->nodes.begin()) : Collective::none;
      signature = mix64(signature ^ (there ? x.signature[place[k]] : Collective::none));
    }
    if (!seen.insert(signature).second) continue;
    std::sort(resources.begin(), resources.end());
    // Each kind on a link has listed it.
    resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
    for (const std::uint32_t r : resources)
      for (std::size_t k = 0; k < flight.size(); ++k)
        if (place[k] != Collective::none)
          collectives_[flight[k]]->for_each_inside(place[k], timer_.link_of(r), [&](std::uint32_t item, double use) {
            uses.push_back({r, base[k] + item, times[k] * use});
          });
  }
}

std::vector<double> Meetings::share(const Flight& flight, const std::vector<double>& times) {
  std::vector<std::uint32_t> base;  // by kind: number of its first item
  std::uint32_t all = 0;
  for (const std::uint32_t kind : flight) {
    base.push_back(all);
    all += static_cast<std::uint32_t>(collectives_[kind]->rate.size());
  }
  std::vector<LinkUse> uses;
  for (std::size_t k = 0; k < flight.size(); ++k) {
    const LinkUses& fabric = *collectives_[flight[k]]->fabric;
    for (const LinkUses::Link& l : fabric.links()) {
      if (!is_contended(l.link)) continue;
      // The flows of several kinds on a link between switches come from several NIC ports.
      const bool several = flight.size() > 1 || times[k] > 1;
      for (const LinkUses::Use u : fabric.users(l.kind)) {
        const Background::Use use{l.link, 0, u.use, fabric.contended(l.kind) || !several};
        uses.push_back({l.link, base[k] + u.item, times[k] * use_where_contended(timer_.rule(), use)});
      }
    }
  }
  add_inside(flight, times, base, uses);
  // Items of other jobs are numbered after those of the kinds.
  const std::uint32_t own = all;
  if (!others_load_.empty()) {
    std::set<std::uint32_t> contended;
    for (const LinkUse& u : uses)
      if (others_load_[u.link] > 0) contended.insert(u.link);
    for (const std::uint32_t resource : contended) add_others(resource, own, uses);
    all += static_cast<std::uint32_t>(timer_.others()->rate.size());
  }
  // Only items on contended links take part.
  std::vector<std::uint32_t> number(all, Collective::none), item_of;
  std::vector<BytesPerSecond> caps;
  std::vector<double> weights;
  ItemClasses classes{timer_.rule().classes};
  for (LinkUse& use : uses) {
    std::uint32_t& n = number[use.item];
    if (n == Collective::none) {
      n = static_cast<std::uint32_t>(item_of.size());
      item_of.push_back(use.item);
    }
    use.item = n;
  }
  const auto collective_of = [&](std::uint32_t item) {
    return static_cast<std::size_t>(std::upper_bound(base.begin(), base.end(), item) - base.begin() - 1);
  };
  for (const std::uint32_t item : item_of) {
    if (item >= own) {
      caps.push_back(timer_.others()->rate[item - own]);
      weights.push_back(timer_.others()->weight[item - own]);
      classes.add(*timer_.others(), item - own);
      continue;
    }
    const std::size_t k = collective_of(item);
    // At most its rate alone, which already includes sharing between its own teams.
    caps.push_back(collectives_[flight[k]]->rate[item - base[k]]);
    weights.push_back(collectives_[flight[k]]->weight(item - base[k]));
    classes.add_own(timer_.rule());
  }
  const LinkShares shares = share_links(caps, weights, std::move(uses), {}, classes);
  std::vector<Seconds> makespan;
  // At least the time alone, because channels on no contended link run as they do alone.
  for (const std::uint32_t kind : flight) makespan.push_back(collectives_[kind]->time.makespan);
  for (std::size_t n = 0; n < item_of.size(); ++n) {
    if (item_of[n] >= own) continue;
    const std::size_t k = collective_of(item_of[n]);
    const BytesPerSecond rate = std::min(shares.rate[n], caps[n]);
    makespan[k] = std::max(makespan[k], collectives_[flight[k]]->at(item_of[n] - base[k], rate));
  }
  std::vector<double> paces;
  for (std::size_t k = 0; k < flight.size(); ++k) paces.push_back(collectives_[flight[k]]->time.makespan / makespan[k]);
  return paces;
}

}  // namespace fabricast
