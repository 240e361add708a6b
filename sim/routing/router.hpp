// Routers on Clos networks and on arbitrary graphs, for policies that choose among equal-cost links.
//
// A Chooser is copyable and has
//   Key key(const Flow&)                                         called once per flow
//   std::uint32_t pick(Key, std::uint32_t vertex, int tier, std::uint32_t choices)   called at each switch with a
//   choice In a Clos network, `tier` is 0 at a leaf up, 1 at a spine up, 2 at a core down, and 3 at a spine down. In
//   other graphs it counts the switches with a choice along the path. A Chooser may also have
//   bool independent()       whether choices of different flows and at different switches are independent
//   std::uint64_t seed()     then required: the seed of the sample
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/routing/routing.hpp"
#include "planes.hpp"

namespace fabricast {

/// Latencies of paths in a Clos network, for both kinds of Clos routers.
class ClosLatency {
 public:
  explicit ClosLatency(const Fabric& fabric);
  /// The latency between two NIC ports whose path turns at tier 0 (same leaf), 1 (same group) or 2 (through a core).
  Seconds of(int top) const { return of_[static_cast<std::size_t>(top)]; }

 private:
  std::array<Seconds, 3> of_{};
};

/// The leaves and groups of a Clos network that have a dead link between switches.
class DeadParts {
 public:
  DeadParts(const Fabric& fabric, const LinkState& state);
  bool any() const { return any_; }
  /// Whether a path between two leaves may cross a dead link.
  bool may_meet(std::uint32_t leaf_a, std::uint32_t leaf_b, bool by_core, const Clos& clos) const {
    return any_ && (leaf_[leaf_a] || leaf_[leaf_b] ||
                    (by_core && (group_[clos.group_of(leaf_a)] || group_[clos.group_of(leaf_b)])));
  }

 private:
  bool any_;  ///< whether any link is down, including those of NIC ports
  std::vector<bool> leaf_, group_;
};

/// Calls add(link, flows) for a sample of the links that flows cross if they choose among equal-cost links at random.
/// At every switch the flows are distributed by a multinomial sample, so the count of each link is binomial, as if its
/// flows had been hashed. Not modelled: the path of each single flow. The samples up and down are independent.
void part_at_random(const Clos& clos, std::span<const LeafFlows> by_leaf, std::uint64_t seed,
                    const std::function<void(std::uint32_t, std::uint64_t)>& add);

/// A router on a Clos network, by arithmetic instead of tables.
template <class Chooser>
class ClosRouter final : public Router {
 public:
  ClosRouter(const Fabric& fabric, const LinkState& state, Chooser chooser)
      : fabric_(fabric),
        clos_(*fabric.clos()),
        state_(state),
        latency_(fabric),
        chooser_(std::move(chooser)),
        dead_(fabric, state) {}

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    const std::uint32_t leaf_a = clos_.leaf_of(flow.from), leaf_b = clos_.leaf_of(flow.to);
    auto& out = path.resources;
    out.push_back(Clos::endpoint_up(flow.from));
    if (leaf_a != leaf_b && !between_leaves(flow, leaf_a, leaf_b, path)) return false;
    out.push_back(Clos::endpoint_down(flow.to));
    if (leaf_a == leaf_b) path.latency = latency_.of(0);
    return !dead_.any() || (!state_.down(out.front()) && !state_.down(out.back()));
  }
  bool settled(std::uint32_t from, std::uint32_t to) const override { return clos_.leaf_of(from) == clos_.leaf_of(to); }
  bool direct(std::uint32_t from, std::uint32_t to) const override { return clos_.leaf_of(from) == clos_.leaf_of(to); }
  bool ends_at_ports() const override { return !dead_.any(); }
  Parting parting() const override {
    if constexpr (requires { chooser_.independent(); })
      if (!dead_.any() && chooser_.independent()) return Parting::at_random;
    return Parting::one_by_one;
  }
  void part(std::span<const LeafFlows> by_leaf, std::uint64_t stream,
            const std::function<void(std::uint32_t, std::uint64_t)>& add) const override {
    if constexpr (requires { chooser_.seed(); }) part_at_random(clos_, by_leaf, mix64(chooser_.seed() + stream), add);
  }

 private:
  bool between_leaves(const Flow& flow, std::uint32_t leaf_a, std::uint32_t leaf_b, Path& path) const {
    const std::uint32_t group_a = clos_.group_of(leaf_a), group_b = clos_.group_of(leaf_b);
    const bool by_core = group_a != group_b;
    if (clos_.spines_per_group == 0) return false;
    if (by_core && (clos_.cores_per_plane == 0 || clos_.island_of(group_a) != clos_.island_of(group_b))) return false;
    if (dead_.may_meet(leaf_a, leaf_b, by_core, clos_)) return around_the_dead(flow, leaf_a, leaf_b, path);

    const auto key = chooser_.key(flow);
    const std::uint32_t vertex0 = clos_.endpoints;
    const std::uint32_t j = chooser_.pick(key, vertex0 + leaf_a, 0, clos_.leaf_up);
    auto& out = path.resources;
    out.push_back(clos_.leaf_to_spine(leaf_a, j));
    const std::uint32_t index = j / clos_.leaf_spine_cables;
    std::uint32_t spine = group_a * clos_.spines_per_group + index;
    path.latency = latency_.of(by_core ? 2 : 1);
    if (by_core) {
      const std::uint32_t v = chooser_.pick(key, vertex0 + clos_.leaves + spine, 1, clos_.spine_up);
      out.push_back(clos_.spine_to_core(spine, v));
      const std::uint32_t core = clos_.core_of(spine, v);
      spine = group_b * clos_.spines_per_group + index;
      const std::uint32_t back =
          clos_.spine_core_cables == 1
              ? 0
              : chooser_.pick(key, vertex0 + clos_.leaves + clos_.spines() + core, 2, clos_.spine_core_cables);
      out.push_back(clos_.core_to_spine(spine, v / clos_.spine_core_cables, back));
    }
    const std::uint32_t back = clos_.leaf_spine_cables == 1
                                   ? 0
                                   : chooser_.pick(key, vertex0 + clos_.leaves + spine, 3, clos_.leaf_spine_cables);
    out.push_back(clos_.spine_to_leaf(leaf_b, index, back));
    return true;
  }

  /// The same with dead links: at each switch only links that still lead to the destination are choices.
  // Each of a flow's links is asked whether any behind it is alive; only the choices of switches that it crosses are
  // listed.
  bool around_the_dead(const Flow& flow, std::uint32_t leaf_a, std::uint32_t leaf_b, Path& path) const {
    const std::uint32_t group_a = clos_.group_of(leaf_a), group_b = clos_.group_of(leaf_b);
    const bool by_core = group_a != group_b;
    const auto key = chooser_.key(flow);
    const std::uint32_t vertex0 = clos_.endpoints;
    const auto spine_of = [&](std::uint32_t group, std::uint32_t index) {
      return group * clos_.spines_per_group + index;
    };
    // Cables from a spine of group_b to leaf_b, from a core to that spine, from a spine of group_a to a core.
    const auto down = [&](std::uint32_t index) {
      return [&, index](std::uint32_t c) { return !state_.down(clos_.spine_to_leaf(leaf_b, index, c)); };
    };
    const auto from_core = [&](std::uint32_t index, std::uint32_t core) {
      return [&, index, core](std::uint32_t c) {
        return !state_.down(clos_.core_to_spine(spine_of(group_b, index), core, c));
      };
    };
    const auto to_core = [&](std::uint32_t index) {
      return [&, index](std::uint32_t v) {
        return !state_.down(clos_.spine_to_core(spine_of(group_a, index), v)) &&
               any_alive(clos_.spine_core_cables, from_core(index, v / clos_.spine_core_cables));
      };
    };
    const auto up = [&](std::uint32_t j) {
      const std::uint32_t index = j / clos_.leaf_spine_cables;
      return !state_.down(clos_.leaf_to_spine(leaf_a, j)) && any_alive(clos_.leaf_spine_cables, down(index)) &&
             (!by_core || any_alive(clos_.spine_up, to_core(index)));
    };
    const auto pick = [&](const std::vector<std::uint32_t>& from, std::uint32_t vertex, int tier) {
      return from[chooser_.pick(key, vertex, tier, static_cast<std::uint32_t>(from.size()))];
    };
    const std::vector<std::uint32_t> uplinks = alive_of(clos_.leaf_up, up);
    if (uplinks.empty()) return false;
    const std::uint32_t j = pick(uplinks, vertex0 + leaf_a, 0), index = j / clos_.leaf_spine_cables;
    path.resources.push_back(clos_.leaf_to_spine(leaf_a, j));
    path.latency = latency_.of(by_core ? 2 : 1);
    std::uint32_t spine = spine_of(group_a, index);
    if (by_core) {
      const std::uint32_t v = pick(alive_of(clos_.spine_up, to_core(index)), vertex0 + clos_.leaves + spine, 1);
      path.resources.push_back(clos_.spine_to_core(spine, v));
      const std::uint32_t core = clos_.core_of(spine, v), place = v / clos_.spine_core_cables;
      const std::uint32_t back = pick(alive_of(clos_.spine_core_cables, from_core(index, place)),
                                      vertex0 + clos_.leaves + clos_.spines() + core, 2);
      spine = spine_of(group_b, index);
      path.resources.push_back(clos_.core_to_spine(spine, place, back));
    }
    const std::uint32_t back = pick(alive_of(clos_.leaf_spine_cables, down(index)), vertex0 + clos_.leaves + spine, 3);
    path.resources.push_back(clos_.spine_to_leaf(leaf_b, index, back));
    return true;
  }

  /// Whether any of 0 to n - 1 is alive.
  static bool any_alive(std::uint32_t n, const auto& alive) {
    for (std::uint32_t i = 0; i < n; ++i)
      if (alive(i)) return true;
    return false;
  }
  /// Those of 0 to n - 1 that are alive.
  static std::vector<std::uint32_t> alive_of(std::uint32_t n, const auto& alive) {
    std::vector<std::uint32_t> list;
    for (std::uint32_t i = 0; i < n; ++i)
      if (alive(i)) list.push_back(i);
    return list;
  }

  const Fabric& fabric_;
  const Clos clos_;
  const LinkState& state_;
  ClosLatency latency_;
  Chooser chooser_;
  DeadParts dead_;
};

/// A number for a flow, mixed from a seed, its ports and its queue pairs.
inline std::uint64_t flow_key(std::uint64_t seed, const Flow& flow) {
  const std::uint64_t ends = mix64(seed ^ (std::uint64_t{flow.from} << 32 | flow.to));
  return mix64(ends ^ (std::uint64_t{flow.from_qp} << 32 | flow.to_qp));
}
/// One of n places by the upper half of a mixed number.
inline std::uint32_t pick_of(std::uint64_t mixed, std::uint64_t n) {
  return static_cast<std::uint32_t>((mixed >> 32) * n >> 32);
}

/// Minimal paths between the switches of a fabric that is not a Clos network: by its Distances if it has one and no link is
/// down, otherwise by a search from each destination, once, on demand. Without a Distances every link has length 1.
/// Thread-safe.
class GraphPaths {
 public:
  GraphPaths(const Fabric& fabric, const LinkState& state);

  /// The links of a NIC port and the switch at their other end, numbered from 0.
  struct Port {
    std::uint32_t up = none, down = none, at = none;
  };
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  const Port& port(std::uint32_t endpoint) const { return ports_[endpoint]; }
  /// Whether two NIC ports are on one switch.
  bool direct(std::uint32_t from, std::uint32_t to) const { return port(from).at == port(to).at; }
  /// Whether a link of a NIC port is there and not down.
  bool usable(std::uint32_t link) const { return link != none && !state_.down(link); }
  Seconds latency(std::uint32_t link) const { return fabric_.link_class(LinkId(link)).latency; }
  /// Whether port e has the links 2e and 2e + 1.
  bool ports_first() const { return ports_first_; }
  /// The same, and no link is down.
  bool ends_at_ports() const { return ports_first_ && !any_down_; }
  std::uint32_t switches() const { return fabric_.switches(); }
  std::uint32_t group_of(std::uint32_t at) const { return metric_ ? metric_->group_of(at) : at; }

  /// Length of the minimal paths between two switches; `far`: there is none.
  static constexpr std::uint32_t far = 0xFFFF;
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const {
    return by_metric() ? metric_->distance(from, to) : searched(to)[from];
  }
  /// The outgoing links of switch `here` on minimal paths to switch `to`, ascending. Empty if there is no path.
  void next_hops(std::uint32_t here, std::uint32_t to, std::vector<LinkId>& links) const;
  /// Adds a link of a NIC port to a path. \returns whether it is usable
  bool take(std::uint32_t link, Path& path) const {
    if (!usable(link)) return false;
    path.resources.push_back(link);
    path.latency += latency(link);
    return true;
  }
  /// Adds one minimal path between two switches. \param pick  pick(here, n): which of n next hops
  /// \returns false if there is none
  template <class Pick>
  bool walk(std::uint32_t here, std::uint32_t to, Path& path, Pick pick) const {
    std::vector<LinkId> choices;
    while (here != to) {
      next_hops(here, to, choices);
      if (choices.empty()) return false;
      const LinkId link = choices[pick(here, static_cast<std::uint32_t>(choices.size()))];
      path.resources.push_back(link.value);
      path.latency += latency(link.value);
      here = end_of(link);
    }
    return true;
  }
  /// The switch at the end of a link.
  std::uint32_t end_of(LinkId link) const { return fabric_.link(link).to.value - fabric_.endpoints(); }
  const Fabric& fabric() const { return fabric_; }
  const LinkState& state() const { return state_; }
  /// Whether the latency of a minimal path follows from its length: links of one kind (between switches, to ports, from
  /// ports) are alike, and each has length 1.
  bool latency_by_length() const;

  /// Distributes flows between switches over the links between them. All flows to a destination are moved together,
  /// those that are farthest first.
  /// \param pairs  sorted by destination
  /// \param split  split(from, flows, weights, parts) fills in the parts of the flows in proportion to whole weights
  template <class Pair, class Split>
  void part(std::span<const Pair> pairs, Split split, const std::function<void(std::uint32_t, double)>& add) const;
  /// Groups of parallel links, in the order of the switches that they leave. With dead links each live one is alone.
  std::uint32_t cables() const { return static_cast<std::uint32_t>(cables_.size()); }
  std::uint32_t first_cables(std::uint32_t at) const { return first_cables_[at]; }
  std::uint32_t end_of_cables(std::uint32_t c) const { return hops_[cables_[c].first].to; }
  std::uint32_t link_of_cables(std::uint32_t c, std::uint32_t i) const { return hops_[cables_[c].first + i].link; }
  std::uint32_t links_of_cables(std::uint32_t c) const { return cables_[c].count; }
  /// The cables out of a switch on minimal paths, with their numbers of links. \param distance  to the destination
  void choose(std::uint32_t here, const std::vector<std::uint16_t>& distance, std::vector<std::uint32_t>& chosen,
              std::vector<std::uint32_t>& links) const;
  /// The distances of all switches to one. \param own  memory that the result may use
  const std::vector<std::uint16_t>& distances_to(std::uint32_t to, std::vector<std::uint16_t>& own) const;

 private:
  struct Hop {
    std::uint32_t link, to;
    std::uint16_t length;
    std::uint8_t dimension;
  };
  struct Cables {
    std::uint32_t first, count;  ///< of hops, which are consecutive
  };
  bool by_metric() const { return metric_ && !any_down_; }
  std::span<const Hop> hops(std::uint32_t at) const {
    return {hops_.data() + first_[at], hops_.data() + first_[at + 1]};
  }
  const std::vector<std::uint16_t>& searched(std::uint32_t to) const;
  /// The links to a neighbour that are not down.
  void direct_links(std::uint32_t here, std::uint32_t to, std::vector<LinkId>& links) const;
  template <class Distance>
  void next_by(std::uint32_t here, Distance distance, std::vector<LinkId>& links) const;

  const Fabric& fabric_;
  const LinkState& state_;
  const Distances* metric_;
  bool any_down_, ports_first_ = true, ordered_;
  std::vector<Port> ports_;           ///< by endpoint
  std::vector<std::uint32_t> first_;  ///< by switch: the first of its hops to other switches
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> by_neighbour_;  ///< hops of each switch, sorted by the switch that they lead to
  std::vector<std::uint32_t> first_cables_;  ///< by switch
  std::vector<Cables> cables_;
  mutable std::unique_ptr<std::once_flag[]> once_;             ///< by destination
  mutable std::vector<std::vector<std::uint16_t>> distances_;  ///< by destination, then by switch
};

template <class Distance>
void GraphPaths::next_by(std::uint32_t here, Distance distance, std::vector<LinkId>& links) const {
  links.clear();
  const std::uint32_t all = distance(here);
  if (all == far) return;
  std::uint8_t dimension = 0xFF;
  for (std::uint32_t c = first_cables_[here]; c < first_cables_[here + 1]; ++c) {
    const Hop& hop = hops_[cables_[c].first];
    if (std::uint32_t{hop.length} + distance(hop.to) != all) continue;
    if (ordered_ && hop.dimension != dimension) {
      if (hop.dimension > dimension) continue;
      links.clear();
      dimension = hop.dimension;
    }
    for (std::uint32_t i = 0; i < cables_[c].count; ++i) links.emplace_back(hops_[cables_[c].first + i].link);
  }
}

template <class Pair, class Split>
void GraphPaths::part(std::span<const Pair> pairs, Split split,
                      const std::function<void(std::uint32_t, double)>& add) const {
  std::vector<std::uint16_t> own;
  std::vector<double> amount(switches(), 0), on(cables_.size(), 0), parts;
  std::vector<std::vector<std::uint32_t>> waiting;  // by distance: switches with flows
  std::vector<std::uint32_t> chosen, weights;
  for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
    const std::uint32_t to = pairs[begin].to;
    const std::vector<std::uint16_t>& distance = distances_to(to, own);
    const auto put = [&](std::uint32_t at, double flows) {
      if (at == to || flows == 0) return;
      if (amount[at] == 0) {
        if (waiting.size() <= distance[at]) waiting.resize(distance[at] + std::size_t{1});
        waiting[distance[at]].push_back(at);
      }
      amount[at] += flows;
    };
    for (; end < pairs.size() && pairs[end].to == to; ++end)
      put(pairs[end].from, static_cast<double>(pairs[end].flows));
    for (std::size_t d = waiting.size(); d-- > 0; waiting[d].clear())
      // No flow moves to a switch that is as far, so the list does not grow.
      for (const std::uint32_t at : waiting[d]) {
        choose(at, distance, chosen, weights);
        FABRICAST_CHECK(!chosen.empty(), "flows between switches that are not connected");
        split(at, std::exchange(amount[at], 0.0), weights, parts);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          on[chosen[i]] += parts[i];
          put(hops_[cables_[chosen[i]].first].to, parts[i]);
        }
      }
  }
  // Which of several parallel links a flow takes does not matter for the rest of its path, so all are divided at once.
  for (std::uint32_t c = 0; c < cables_.size(); ++c) {
    if (on[c] == 0) continue;
    weights.assign(cables_[c].count, 1);
    split(c, on[c], weights, parts);
    for (std::uint32_t i = 0; i < cables_[c].count; ++i) add(hops_[cables_[c].first + i].link, parts[i]);
  }
}

/// Divides flows in proportion to the weights.
struct EvenSplit {
  void operator()(std::uint32_t, double flows, const std::vector<std::uint32_t>& weights,
                  std::vector<double>& parts) const;
};

/// Divides flows as if each took one of the places at random, with probabilities in proportion to their weights (parting.cpp).
class RandomSplit {
 public:
  explicit RandomSplit(std::uint64_t seed) : rng_(seed) {}
  void operator()(std::uint32_t from, double flows, const std::vector<std::uint32_t>& weights,
                  std::vector<double>& parts);

 private:
  Rng rng_;
};

/// A router on an arbitrary graph, all of whose paths are minimal.
class MinimalRouter : public Router {
 public:
  MinimalRouter(const Fabric& fabric, const LinkState& state) : paths_(fabric, state) {}
  const GraphPaths& paths() const { return paths_; }

 protected:
  GraphPaths paths_;
};

/// One that chooses a path for each flow.
template <class Chooser>
class GraphRouter final : public MinimalRouter {
 public:
  GraphRouter(const Fabric& fabric, const LinkState& state, Chooser chooser)
      : MinimalRouter(fabric, state), chooser_(std::move(chooser)) {}

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    if (flow.from == flow.to) return true;
    const GraphPaths::Port &from = paths_.port(flow.from), &to = paths_.port(flow.to);
    const auto key = chooser_.key(flow);
    int tier = 0;
    const auto pick = [&](std::uint32_t here, std::uint32_t n) {
      return n == 1 ? 0 : chooser_.pick(key, paths_.fabric().endpoints() + here, tier++, n);
    };
    return paths_.take(from.up, path) && paths_.walk(from.at, to.at, path, pick) && paths_.take(to.down, path);
  }
  bool settled(std::uint32_t from, std::uint32_t to) const override { return direct(from, to); }
  bool direct(std::uint32_t from, std::uint32_t to) const override { return paths_.direct(from, to); }
  bool ends_at_ports() const override { return paths_.ends_at_ports(); }
  Parting parting() const override {
    if constexpr (requires { chooser_.independent(); })
      if (paths_.ports_first() && chooser_.independent()) return Parting::at_random;
    return Parting::one_by_one;
  }
  void part_pairs(std::span<const SwitchFlows> pairs, std::uint64_t stream,
                  const std::function<void(std::uint32_t, double)>& add) const override {
    if constexpr (requires { chooser_.seed(); }) paths_.part(pairs, RandomSplit(mix64(chooser_.seed() + stream)), add);
  }

 private:
  Chooser chooser_;
};

/// The router of a Chooser for this fabric.
template <class Chooser>
std::unique_ptr<Router> make_choosing_router(const Fabric& fabric, const LinkState& state, Chooser chooser) {
  if (fabric.clos()) return std::make_unique<ClosRouter<Chooser>>(fabric, state, std::move(chooser));
  return over_planes(fabric, state, std::make_unique<GraphRouter<Chooser>>(fabric, state, std::move(chooser)));
}

/// A router that spreads every flow over all equal-cost links. \param even  in equal parts, not in proportion to their
/// capacity; on graphs without Clos arithmetic always in equal parts
std::unique_ptr<Router> make_spreading_router(const Fabric& fabric, const LinkState& state, bool even);

}  // namespace fabricast
