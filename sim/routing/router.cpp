// States of links, shortest paths, and routers that spread flows over bundles of links (router.hpp).
#include "router.hpp"

#include <fmt/format.h>

#include <limits>

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

// Breadth first from the destination, against the direction of the links. Distances are kept, since many flows end at
// the same port.
const std::vector<std::uint16_t>& GraphPaths::distances(std::uint32_t to) const {
  const std::scoped_lock lock(mutex_);
  auto [it, fresh] = distance_.try_emplace(to);
  if (!fresh) return it->second;
  constexpr auto far = std::numeric_limits<std::uint16_t>::max();
  std::vector<std::uint16_t>& distance = it->second;
  distance.assign(fabric_.vertices(), far);
  distance[to] = 0;
  std::deque<VertexId> queue{VertexId(to)};
  while (!queue.empty()) {
    const VertexId here = queue.front();
    queue.pop_front();
    if (here.value != to && fabric_.is_endpoint(here)) continue;  // NICs do not forward
    for (const LinkId out : out_.out(here)) {
      const VertexId there = fabric_.link(out).to;
      if (state_.down(Fabric::reverse(out).value) || distance[there.value] != far) continue;
      distance[there.value] = static_cast<std::uint16_t>(distance[here.value] + 1);
      queue.push_back(there);
    }
  }
  return distance;
}

void GraphPaths::next_hops(VertexId here, std::uint32_t to, std::vector<LinkId>& links) const {
  links.clear();
  const std::vector<std::uint16_t>& distance = distances(to);
  if (distance[here.value] == std::numeric_limits<std::uint16_t>::max()) return;
  for (const LinkId out : out_.out(here))
    if (!state_.down(out.value) && distance[fabric_.link(out).to.value] + 1 == distance[here.value])
      links.push_back(out);
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

/// Spreads flows on an arbitrary graph: at each vertex, equal parts take each of the next hops.
class GraphSpreader final : public Router {
 public:
  GraphSpreader(const Fabric& fabric, const LinkState& state) : paths_(fabric, state) {}

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    // Shortest paths have equal length, so the front moves hop by hop: the vertices that the flow reaches at the same
    // time, with their shares.
    std::vector<std::pair<VertexId, double>> front{{VertexId(flow.from), 1.0}};
    std::vector<LinkId> choices;
    while (front.size() != 1 || front[0].first.value != flow.to) {
      std::vector<std::pair<VertexId, double>> next;
      double slowest = 0;
      for (const auto& [here, share] : front) {
        paths_.next_hops(here, flow.to, choices);
        if (choices.empty()) return false;
        for (const LinkId link : choices) {
          const double part = share / static_cast<double>(choices.size());
          path.resources.push_back(link.value);
          path.weights.push_back(part);
          slowest = std::max(slowest, paths_.fabric().link_class(link).latency.value);
          const VertexId there = paths_.fabric().link(link).to;
          const auto it = std::find_if(next.begin(), next.end(), [&](const auto& n) { return n.first == there; });
          if (it != next.end())
            it->second += part;
          else
            next.emplace_back(there, part);
        }
      }
      // A message is complete when its slowest part is, so each hop counts its longest latency.
      path.latency += Seconds{slowest};
      front = std::move(next);
    }
    return true;
  }
  bool even() const override { return true; }

 private:
  GraphPaths paths_;
};

}  // namespace

std::unique_ptr<Router> make_spreading_router(const Fabric& fabric, const LinkState& state, bool even) {
  if (fabric.clos()) return std::make_unique<ClosSpreader>(fabric, state, even);
  return std::make_unique<GraphSpreader>(fabric, state);
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
