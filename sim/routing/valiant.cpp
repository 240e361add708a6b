// Non-minimal routing over a random intermediate switch [Valiant1982], as dragonflies need it [Kim2008]: a queue pair
// goes to a switch that it draws at random, and from there to its destination, minimally each time. If all traffic of a
// group goes to one other group, minimal paths share the few cables between the two, and Valiant's use all cables of
// the fabric, each twice.
//
// The intermediate switch is one with NICs, in another group than both ends if there is a third one. Between two
// switches of one group that share a cable, it is a third switch of the group with a cable to both. Where a group has
// none, and where minimal paths already lead over many switches (the leaves of a dragonfly+), flows within a group stay
// minimal. `nonminimal` is the part of the queue pairs that take a detour; the others are minimal. At each switch, one
// of the equal minimal links is taken at random.
//
// Not modelled: a choice by load (UGAL); the part is the same for all traffic. It cannot follow from the fabric alone:
// the part that is best for the worst traffic makes the cables of a uniform alltoall carry almost twice as much.
#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"
#include "router.hpp"

namespace fabricast {

struct ValiantSpec {
  double nonminimal = 1;
  std::int64_t seed = 1;
  int seeds = 16;
};

void visit_fields(FieldVisitor& visit, ValiantSpec& spec) {
  visit("nonminimal", spec.nonminimal, "part of the queue pairs that take a detour", between(0, 1));
  visit("seed", spec.seed, "seed of the first sample", at_least(0));
  visit("seeds", spec.seeds, "number of samples", between(1, 100000));
}

Samples samples(const ValiantSpec& spec) { return {static_cast<std::uint64_t>(spec.seed), spec.seeds}; }

namespace {

class ValiantRouter final : public Router {
 public:
  ValiantRouter(const ValiantSpec& spec, const Fabric& fabric, const LinkState& state, std::uint64_t seed)
      : paths_(fabric, state), nonminimal_(spec.nonminimal), seed_(mix64(seed ^ 0x76616c)) {
    std::vector<bool> has_nics(fabric.switches(), false);
    for (std::uint32_t e = 0; e < fabric.endpoints(); ++e)
      if (paths_.port(e).at != GraphPaths::none) has_nics[paths_.port(e).at] = true;
    std::vector<std::uint32_t> group_sizes(fabric.switches(), 0);
    for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
      grouped_ |= ++group_sizes[paths_.group_of(s)] > 1;
      if (has_nics[s]) candidates_.push_back(s);
    }
    if (!grouped_) return;
    in_group_.resize(fabric.switches());
    for (const std::uint32_t s : candidates_) in_group_[paths_.group_of(s)].push_back(s);
  }

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    if (flow.from == flow.to) return true;
    const GraphPaths::Port &from = paths_.port(flow.from), &to = paths_.port(flow.to);
    std::uint64_t key = mix64(seed_ ^ (std::uint64_t{flow.from} << 32 | flow.to));
    key = mix64(key ^ (std::uint64_t{flow.from_qp} << 32 | flow.to_qp));
    const std::uint32_t over = intermediate(from.at, to.at, key);
    // Numbers of their own, so that links do not depend on which switch was drawn.
    const std::uint64_t first = mix64(key ^ 0x6669727374), second = mix64(key ^ 0x7365636f6e64);
    return take(from.up, path) && minimal(from.at, over, first, path) && minimal(over, to.at, second, path) &&
           take(to.down, path);
  }
  bool settled(std::uint32_t from, std::uint32_t to) const override { return direct(from, to); }
  bool direct(std::uint32_t from, std::uint32_t to) const override {
    return paths_.port(from).at == paths_.port(to).at;
  }
  bool ends_at_ports() const override { return paths_.ends_at_ports(); }
  Parting parting() const override { return paths_.ends_at_ports() ? Parting::at_random : Parting::one_by_one; }

  // Each flow draws its intermediate switch. The two halves of the paths are then distributed as minimal flows are.
  void part_pairs(std::span<const SwitchFlows> pairs, std::uint64_t stream,
                  const std::function<void(std::uint32_t, double)>& add) const override {
    const std::uint32_t n = paths_.switches();
    std::vector<std::uint64_t> out(std::size_t{n} * n, 0), in(out);  // by second end of the half, then by its first
    std::uint64_t drawn = 0;
    for (const SwitchFlows& pair : pairs)
      for (std::uint64_t f = 0; f < pair.flows; ++f) {
        const std::uint32_t over = intermediate(pair.from, pair.to, mix64(mix64(seed_ + stream) + ++drawn));
        if (over != pair.from) ++out[std::size_t{over} * n + pair.from];
        if (over != pair.to) ++in[std::size_t{pair.to} * n + over];
      }
    std::uint64_t half = stream;
    for (const auto* flows : {&out, &in}) {
      std::vector<SwitchFlows> list;
      for (std::size_t i = 0; i < flows->size(); ++i)
        if ((*flows)[i] > 0)
          list.push_back({static_cast<std::uint32_t>(i % n), static_cast<std::uint32_t>(i / n), (*flows)[i]});
      paths_.part(list, RandomSplit(mix64(seed_ ^ mix64(++half << 8))), add);
    }
  }

 private:
  /// The switch over which a flow goes; one of its ends if it stays minimal.
  std::uint32_t intermediate(std::uint32_t from, std::uint32_t to, std::uint64_t key) const {
    if (from == to) return to;
    const std::uint32_t a = paths_.group_of(from), b = paths_.group_of(to);
    const bool within = grouped_ && a == b;
    const std::vector<std::uint32_t>& among = within ? in_group_[a] : candidates_;
    if (within && (among.size() < 3 || paths_.distance(from, to) != 1)) return to;
    if (nonminimal_ < 1 && static_cast<double>(mix64(key) >> 11) * 0x1.0p-53 >= nonminimal_) return to;
    // Drawn again while it does not suit. Where there is no third group, or no third switch, the flow stays minimal.
    for (int draw = 0; draw < 64; ++draw) {
      key = mix64(key + 1);
      const std::uint32_t over = among[(key >> 32) * among.size() >> 32];
      if (within ? joins(from, over, to) : paths_.group_of(over) != a && paths_.group_of(over) != b) return over;
    }
    return to;
  }
  /// Whether a switch has a cable to both of two others.
  bool joins(std::uint32_t from, std::uint32_t over, std::uint32_t to) const {
    return paths_.distance(from, over) == 1 && paths_.distance(over, to) == 1;
  }
  bool take(std::uint32_t link, Path& path) const {
    if (link == GraphPaths::none || paths_.state().down(link)) return false;
    path.resources.push_back(link);
    path.latency += paths_.fabric().link_class(LinkId(link)).latency;
    return true;
  }
  bool minimal(std::uint32_t here, std::uint32_t to, std::uint64_t key, Path& path) const {
    std::vector<LinkId> choices;
    while (here != to) {
      paths_.next_hops(here, to, choices);
      if (choices.empty()) return false;
      key = mix64(key + 1);
      const LinkId link = choices[(key >> 32) * choices.size() >> 32];
      take(link.value, path);
      here = paths_.end_of(link);
    }
    return true;
  }

  GraphPaths paths_;
  double nonminimal_;
  std::uint64_t seed_;
  bool grouped_ = false;                              ///< whether a group has several switches
  std::vector<std::uint32_t> candidates_;             ///< switches with NICs
  std::vector<std::vector<std::uint32_t>> in_group_;  ///< the same by group, if groups have several switches
};

}  // namespace

std::unique_ptr<Router> make_router(const ValiantSpec& spec, const Fabric& fabric, const LinkState& state,
                                    std::uint64_t seed) {
  if (!fabric.metric() || planes_of(fabric))
    throw UserError::at("routing.kind", "valiant needs a fabric with direct links between its switches",
                        "use it with fabric.kind dragonfly, dragonfly_plus, torus or hyperx");
  return std::make_unique<ValiantRouter>(spec, fabric, state, seed);
}

RoutingPolicy valiant_routing() {
  return make_routing_policy<ValiantSpec>("valiant", "over a random intermediate switch; one path per queue pair",
                                          "[Valiant1982]");
}

}  // namespace fabricast
