// States of links, shortest paths, and routers that spread flows over bundles of links (router.hpp).
#include "router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <shared_mutex>
#include <unordered_map>

namespace fabricast {

// Only links that are not nominal are stored, sorted by number: few links have faults, and a lookup is a binary search.
void LinkState::set(LinkId link, double factor) {
  const auto it = std::lower_bound(factors_.begin(), factors_.end(), link.value,
                                   [](const auto& entry, std::uint32_t id) { return entry.first < id; });
  const bool there = it != factors_.end() && it->first == link.value;
  if (factor == 1) {
    if (there) factors_.erase(it);
  } else if (there) {
    it->second = factor;
  } else {
    factors_.insert(it, {link.value, factor});
  }
}

double LinkState::factor(std::uint32_t link) const {
  const auto it = std::lower_bound(factors_.begin(), factors_.end(), link,
                                   [](const auto& entry, std::uint32_t id) { return entry.first < id; });
  return it != factors_.end() && it->first == link ? it->second : 1.0;
}

bool LinkState::any_down() const {
  return std::any_of(factors_.begin(), factors_.end(), [](const auto& entry) { return entry.second == 0; });
}

// All links of a tier are alike, so the latency of a path depends only on the tier at which it turns.
ClosLatency::ClosLatency(const Fabric& fabric) {
  const Clos& clos = *fabric.clos();
  const auto pair = [&](std::uint32_t up_link) {
    return fabric.link_class(LinkId(up_link)).latency + fabric.link_class(LinkId(up_link + 1)).latency;
  };
  of_[0] = pair(0);
  of_[1] = of_[2] = of_[0];
  if (clos.leaf_up > 0) of_[1] = of_[2] = of_[0] + pair(clos.leaf_to_spine(0, 0));
  if (clos.spine_up > 0) of_[2] = of_[1] + pair(clos.spine_to_core(0, 0));
}

// Flows between parts without dead links keep the fast arithmetic; only the others search among live links.
DeadParts::DeadParts(const Fabric& fabric, const LinkState& state) : any_(state.any_down()) {
  if (!any_) return;
  const Clos& clos = *fabric.clos();
  leaf_.assign(clos.leaves, false);
  group_.assign(clos.groups, false);
  const std::uint32_t first_leaf = clos.endpoints, first_spine = first_leaf + clos.leaves,
                      first_core = first_spine + clos.spines();
  for (const auto& [number, factor] : state.factors()) {
    if (factor != 0) continue;
    const Fabric::Link link = fabric.link(LinkId(number));
    const auto [low, high] = std::minmax(link.from.value, link.to.value);
    if (low >= first_leaf && low < first_spine) leaf_[low - first_leaf] = true;
    if (low >= first_spine && high >= first_core) group_[(low - first_spine) / clos.spines_per_group] = true;
  }
}

GraphPaths::GraphPaths(const Fabric& fabric, const LinkState& state)
    : fabric_(fabric),
      state_(state),
      metric_(fabric.metric()),
      any_down_(state.any_down()),
      ordered_(metric_ && metric_->ordered()),
      ports_(fabric.endpoints()),
      first_(fabric.switches() + 1, 0),
      once_(std::make_unique<std::once_flag[]>(fabric.switches())),
      distances_(fabric.switches()) {
  const std::uint32_t endpoints = fabric.endpoints();
  // Links are sorted by the switch that they leave, and stay ascending for each.
  std::vector<std::uint32_t> between;
  for (std::uint32_t l = 0; l < fabric.links(); ++l) {
    const auto [from, to] = fabric.link(LinkId(l));
    if (from.value >= endpoints && to.value >= endpoints) {
      ++first_[from.value - endpoints + 1];
      between.push_back(l);
    } else if (from.value < endpoints) {
      ports_[from.value] = {l, l ^ 1U, to.value - endpoints};
      ports_first_ = ports_first_ && l == 2 * from.value;
    }
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  hops_.resize(between.size());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (const std::uint32_t l : between) {
    const auto [from, to] = fabric.link(LinkId(l));
    const std::uint32_t here = from.value - endpoints, there = to.value - endpoints;
    hops_[next[here]++] = {l, there, static_cast<std::uint16_t>(metric_ ? metric_->length(here, there) : 1),
                           static_cast<std::uint8_t>(ordered_ ? metric_->dimension(here, there) : 0)};
  }
  by_neighbour_.resize(hops_.size());
  std::iota(by_neighbour_.begin(), by_neighbour_.end(), 0U);
  for (std::uint32_t at = 0; at < fabric.switches(); ++at)
    std::stable_sort(by_neighbour_.begin() + first_[at], by_neighbour_.begin() + first_[at + 1],
                     [&](std::uint32_t a, std::uint32_t b) { return hops_[a].to < hops_[b].to; });
  for (std::uint32_t at = 0; at < fabric.switches(); ++at) {
    first_cables_.push_back(static_cast<std::uint32_t>(cables_.size()));
    for (std::uint32_t h = first_[at]; h < first_[at + 1]; ++h) {
      if (any_down_ && state.down(hops_[h].link)) continue;
      if (!any_down_ && h > first_[at] && hops_[h].to == hops_[h - 1].to)
        ++cables_.back().count;
      else
        cables_.push_back({h, 1});
    }
  }
  first_cables_.push_back(static_cast<std::uint32_t>(cables_.size()));
}

// As next_by, for parallel links together.
void GraphPaths::choose(std::uint32_t here, const std::vector<std::uint16_t>& distance,
                        std::vector<std::uint32_t>& chosen, std::vector<std::uint32_t>& links) const {
  chosen.clear();
  links.clear();
  const std::uint32_t all = distance[here];
  std::uint8_t dimension = 0xFF;
  for (std::uint32_t c = first_cables_[here]; c < first_cables_[here + 1]; ++c) {
    const Hop& hop = hops_[cables_[c].first];
    if (std::uint32_t{hop.length} + distance[hop.to] != all) continue;
    if (ordered_ && hop.dimension != dimension) {
      if (hop.dimension > dimension) continue;
      chosen.clear();
      links.clear();
      dimension = hop.dimension;
    }
    chosen.push_back(c);
    links.push_back(cables_[c].count);
  }
}

void EvenSplit::operator()(std::uint32_t, double flows, const std::vector<std::uint32_t>& weights,
                           std::vector<double>& parts) const {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  parts.clear();
  for (const std::uint32_t weight : weights) parts.push_back(flows * (weight / all));
}

const std::vector<std::uint16_t>& GraphPaths::distances_to(std::uint32_t to, std::vector<std::uint16_t>& own) const {
  if (!by_metric()) return searched(to);
  own.resize(switches());
  for (std::uint32_t s = 0; s < switches(); ++s) own[s] = static_cast<std::uint16_t>(metric_->distance(s, to));
  return own;
}

bool GraphPaths::latency_by_length() const {
  if (metric_) return false;
  const std::uint32_t endpoints = fabric_.endpoints();
  std::array<Seconds, 3> of;
  of.fill(Seconds{-1});
  for (std::uint32_t l = 0; l < fabric_.links(); ++l) {
    const auto [from, to] = fabric_.link(LinkId(l));
    Seconds& alike = of[from.value < endpoints ? 0 : to.value < endpoints ? 1 : 2];
    if (alike < Seconds{0}) alike = latency(l);
    if (alike != latency(l)) return false;
  }
  return true;
}

// From the destination, against the direction of the links. Lengths are small integers, so the switches that wait are
// kept by distance instead of in a heap.
const std::vector<std::uint16_t>& GraphPaths::searched(std::uint32_t to) const {
  std::vector<std::uint16_t>& distance = distances_[to];
  std::call_once(once_[to], [&] {
    distance.assign(switches(), far);
    distance[to] = 0;
    std::vector<std::vector<std::uint32_t>> waiting{{to}};
    for (std::size_t d = 0; d < waiting.size(); ++d)
      for (std::size_t i = 0; i < waiting[d].size(); ++i) {
        const std::uint32_t here = waiting[d][i];
        if (distance[here] != d) continue;  // a shorter path was found meanwhile
        for (const Hop& hop : hops(here)) {
          if (state_.down(hop.link ^ 1U) || distance[hop.to] <= d + hop.length) continue;
          distance[hop.to] = static_cast<std::uint16_t>(d + hop.length);
          if (waiting.size() <= distance[hop.to]) waiting.resize(distance[hop.to] + std::size_t{1});
          waiting[distance[hop.to]].push_back(hop.to);
        }
      }
  });
  return distance;
}

void GraphPaths::direct_links(std::uint32_t here, std::uint32_t to, std::vector<LinkId>& links) const {
  links.clear();
  const auto end = by_neighbour_.begin() + first_[here + 1];
  for (auto it = std::lower_bound(by_neighbour_.begin() + first_[here], end, to,
                                  [&](std::uint32_t hop, std::uint32_t s) { return hops_[hop].to < s; });
       it != end && hops_[*it].to == to; ++it)
    if (!any_down_ || !state_.down(hops_[*it].link)) links.emplace_back(hops_[*it].link);
}

void GraphPaths::next_hops(std::uint32_t here, std::uint32_t to, std::vector<LinkId>& links) const {
  // No length is below 1, so nothing but a cable is that short. A spine has cables to hundreds of other switches.
  if (distance(here, to) == 1) return direct_links(here, to, links);
  if (by_metric()) {
    next_by(
        here, [&](std::uint32_t s) { return metric_->distance(s, to); }, links);
  } else {
    const std::vector<std::uint16_t>& distance = searched(to);
    next_by(
        here, [&](std::uint32_t s) -> std::uint32_t { return distance[s]; }, links);
  }
}

namespace {

/// Takes the first link.
struct FirstChooser {
  using Key = int;
  Key key(const Flow&) const { return 0; }
  std::uint32_t pick(Key, std::uint32_t, int, std::uint32_t) const { return 0; }
};

/// All flows between two leaves share a bundle of the leaf's uplinks, and, if they cross cores, one of the group's
/// links to the cores; downwards likewise.
class ClosSpreader final : public Router {
 public:
  ClosSpreader(const Fabric& fabric, const LinkState& state, bool even)
      : fabric_(fabric),
        clos_(*fabric.clos()),
        state_(state),
        latency_(fabric),
        any_path_(fabric, state, {}),
        even_(even) {}

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    const std::uint32_t leaf_a = clos_.leaf_of(flow.from), leaf_b = clos_.leaf_of(flow.to);
    const std::uint32_t group_a = clos_.group_of(leaf_a), group_b = clos_.group_of(leaf_b);
    const std::uint32_t first = fabric_.links();
    auto& out = path.resources;
    out.push_back(Clos::endpoint_up(flow.from));
    path.latency = latency_.of(leaf_a == leaf_b ? 0 : group_a == group_b ? 1 : 2);
    if (leaf_a != leaf_b) {
      // Rails of a rail-only fabric and leaves without uplinks are separate networks.
      if (clos_.spines_per_group == 0) return false;
      out.push_back(first + 2 * leaf_a);
      if (group_a != group_b) {
        if (clos_.cores_per_plane == 0 || clos_.island_of(group_a) != clos_.island_of(group_b)) return false;
        out.push_back(first + 2 * (clos_.leaves + group_a));
        out.push_back(first + 2 * (clos_.leaves + group_b) + 1);
      }
      out.push_back(first + 2 * leaf_b + 1);
    }
    out.push_back(Clos::endpoint_down(flow.to));
    // Bundles with live links do not imply a path: the live links of both leaves must meet at a spine.
    Path live;
    return !state_.any_down() || any_path_.route(flow, live);
  }
  bool settled(std::uint32_t, std::uint32_t) const override { return true; }
  bool direct(std::uint32_t from, std::uint32_t to) const override { return clos_.leaf_of(from) == clos_.leaf_of(to); }
  bool ends_at_ports() const override { return !state_.any_down(); }
  std::uint32_t bundles() const override { return 2 * (clos_.leaves + clos_.groups); }
  Bundle bundle(std::uint32_t i) const override {
    const std::uint32_t owner = i / 2, down = i % 2;
    if (owner < clos_.leaves) return {clos_.leaf_to_spine(owner, 0) + down, clos_.leaf_up};
    const std::uint32_t spine = (owner - clos_.leaves) * clos_.spines_per_group;
    return {clos_.spine_to_core(spine, 0) + down, clos_.spines_per_group * clos_.spine_up};
  }
  bool even() const override { return even_; }
  Parting parting() const override { return state_.any_down() ? Parting::one_by_one : Parting::evenly; }
  void part(std::span<const LeafFlows> by_leaf, std::uint64_t,
            const std::function<void(std::uint32_t, std::uint64_t)>& add) const override {
    const std::uint32_t first = fabric_.links();
    for (std::uint32_t leaf = 0; leaf < by_leaf.size(); ++leaf) {
      const LeafFlows& f = by_leaf[leaf];
      const std::uint32_t group = clos_.leaves + clos_.group_of(leaf);
      add(first + 2 * leaf, f.near_out + f.far_out);
      add(first + 2 * leaf + 1, f.near_in + f.far_in);
      add(first + 2 * group, f.far_out);
      add(first + 2 * group + 1, f.far_in);
    }
  }

 private:
  const Fabric& fabric_;
  const Clos clos_;
  const LinkState& state_;
  ClosLatency latency_;
  ClosRouter<FirstChooser> any_path_;
  bool even_;
};

/// Spreads flows on an arbitrary graph: at each switch, equal parts take each of the next hops.
class GraphSpreader final : public MinimalRouter {
 public:
  using MinimalRouter::MinimalRouter;

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    if (flow.from == flow.to) return true;
    const GraphPaths::Port &from = paths_.port(flow.from), &to = paths_.port(flow.to);
    if (!paths_.usable(from.up) || !paths_.usable(to.down)) return false;
    take(path, from.up, 1);
    path.latency = paths_.latency(from.up);
    if (from.at != to.at && !known(from.at, to.at, path)) {
      if (!between(from.at, to.at, path)) return false;
      keep(from.at, to.at, path);
    }
    take(path, to.down, 1);
    path.latency += paths_.latency(to.down);
    return true;
  }
  bool settled(std::uint32_t, std::uint32_t) const override { return true; }
  bool even() const override { return true; }
  Parting parting() const override { return paths_.ports_first() ? Parting::evenly : Parting::one_by_one; }
  void part_pairs(std::span<const SwitchFlows> pairs, std::uint64_t,
                  const std::function<void(std::uint32_t, double)>& add) const override {
    paths_.part(pairs, EvenSplit(), add);
  }

 private:
  /// A switch that a part of the flow has reached.
  struct Reached {
    std::uint32_t at;
    double share;
    Seconds latency;  ///< of the slowest part
  };
  static void take(Path& path, std::uint32_t link, double share) {
    path.resources.push_back(link);
    path.weights.push_back(share);
  }

  // The front moves from distance to distance, those that are farthest first, so that all parts that meet at a switch
  // continue together.
  bool between(std::uint32_t here, std::uint32_t to, Path& path) const {
    std::vector<Reached> front{{here, 1, path.latency}}, next;
    std::vector<LinkId> choices;
    while (front.size() != 1 || front[0].at != to) {
      std::uint32_t farthest = 0;
      for (const Reached& r : front) farthest = std::max(farthest, paths_.distance(r.at, to));
      next.clear();
      for (const Reached& r : front) {
        if (paths_.distance(r.at, to) < farthest) {
          arrive(next, r);
          continue;
        }
        paths_.next_hops(r.at, to, choices);
        if (choices.empty()) return false;
        for (const LinkId link : choices) {
          const double part = r.share / static_cast<double>(choices.size());
          take(path, link.value, part);
          arrive(next, {paths_.end_of(link), part, r.latency + paths_.latency(link.value)});
        }
      }
      // A message is complete when its slowest part is. Without a metric each hop counts its longest latency.
      if (!paths_.fabric().metric()) {
        Seconds slowest;
        for (const Reached& r : next) slowest = std::max(slowest, r.latency);
        for (Reached& r : next) r.latency = slowest;
      }
      std::swap(front, next);
    }
    path.latency = front[0].latency;
    return true;
  }

  // Channels of a ring or a tree send between the same switches, so the first paths are kept: between two switches, and
  // from a port of some latency.
  struct Kept {
    Seconds begin;
    Path path;  ///< without links of ports
  };
  bool known(std::uint32_t from, std::uint32_t to, Path& path) const {
    const std::shared_lock lock(mutex_);
    const auto it = kept_.find(std::uint64_t{from} * paths_.switches() + to);
    if (it == kept_.end() || it->second.begin != path.latency) return false;
    const Path& found = it->second.path;
    path.resources.insert(path.resources.end(), found.resources.begin(), found.resources.end());
    path.weights.insert(path.weights.end(), found.weights.begin(), found.weights.end());
    path.latency = found.latency;
    return true;
  }
  void keep(std::uint32_t from, std::uint32_t to, const Path& path) const {
    constexpr std::size_t most_links = std::size_t{1} << 19;
    if (kept_links_ > most_links) return;
    const std::unique_lock lock(mutex_);
    Kept kept{paths_.latency(path.resources[0]), path};
    kept.path.resources.erase(kept.path.resources.begin());
    kept.path.weights.erase(kept.path.weights.begin());
    if (kept_.emplace(std::uint64_t{from} * paths_.switches() + to, std::move(kept)).second)
      kept_links_ += path.resources.size();
  }

  static void arrive(std::vector<Reached>& front, const Reached& part) {
    const auto it = std::find_if(front.begin(), front.end(), [&](const Reached& r) { return r.at == part.at; });
    if (it == front.end()) return front.push_back(part);
    it->share += part.share;
    it->latency = std::max(it->latency, part.latency);
  }

  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<std::uint64_t, Kept> kept_;  ///< by pair of switches
  mutable std::atomic<std::size_t> kept_links_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_spreading_router(const Fabric& fabric, const LinkState& state, bool even) {
  if (fabric.clos()) return std::make_unique<ClosSpreader>(fabric, state, even);
  return over_planes(fabric, state, std::make_unique<GraphSpreader>(fabric, state));
}

BytesPerSecond capacity(const Fabric& fabric, const Router& router, const LinkState& state, std::uint32_t resource) {
  const auto of_link = [&](std::uint32_t l) { return fabric.link_class(LinkId(l)).rate.value * state.factor(l); };
  if (resource < fabric.links()) return {of_link(resource)};
  const Router::Bundle bundle = router.bundle(resource - fabric.links());
  if (bundle.count == 0) return {0};  // there is no tier above
  if (state.all_nominal()) return {of_link(bundle.first) * bundle.count};
  double sum = 0, slowest = std::numeric_limits<double>::infinity();
  std::uint32_t alive = 0;
  for (std::uint32_t i = 0; i < bundle.count; ++i) {
    const double rate = of_link(bundle.first + 2 * i);
    if (rate == 0) continue;
    sum += rate;
    slowest = std::min(slowest, rate);
    ++alive;
  }
  if (alive == 0) return {0};
  // Spray sends equal parts, so the slowest link limits all; adaptive routing loads each link by its rate.
  return {router.even() ? slowest * alive : sum};
}

std::string resource_name(const Fabric& fabric, const Router& router, std::uint32_t resource) {
  if (resource < fabric.links()) return fabric.name(LinkId(resource));
  const Router::Bundle bundle = router.bundle(resource - fabric.links());
  const Fabric::Link ends = fabric.link(LinkId(bundle.first));
  const bool up = bundle.first % 2 == 0;
  const VertexId lower = up ? ends.from : ends.to, upper = up ? ends.to : ends.from;
  std::string owner = fabric.name(lower);
  if (fabric.tier(lower) == Tier::spine)
    owner = fmt::format("group{}", fabric.clos()->leaf_up ? (lower.value - fabric.endpoints() - fabric.clos()->leaves) /
                                                                fabric.clos()->spines_per_group
                                                          : 0);
  const std::string_view uppers = name_of(fabric.tier(upper));
  return up ? fmt::format("{}-{}s", owner, uppers) : fmt::format("{}s-{}", uppers, owner);
}

}  // namespace fabricast
