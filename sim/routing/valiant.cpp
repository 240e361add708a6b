// Non-minimal routing over a random intermediate switch [Valiant1982], as dragonflies need it [Kim2008]: a queue pair
// goes to a random switch, and from there to its destination, minimally each time. If all traffic of a group goes to one
// other group, minimal paths share the few cables between the two, and Valiant's use all cables of the fabric, each twice.
//
// Which switches a detour may lead over is said in detours.hpp. Where none suits, as between the leaves of one group of
// a dragonfly+, whose minimal paths already lead over many switches, the flow stays minimal. `nonminimal` is the part of
// the queue pairs that take a detour; the others are minimal. At each switch, one of the equal minimal links is taken
// at random. With `choice: packet` every queue pair uses all its detours (valiant_spread.cpp).
//
// The part is the same for all traffic. It cannot follow from the fabric alone: the part that is best for the worst traffic
// makes the cables of a uniform alltoall carry almost twice as much. `ugal` chooses it by load.
#include <fmt/format.h>

#include "detours.hpp"
#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

struct ValiantSpec {
  double nonminimal = 1;
  DetourChoice choice = DetourChoice::queue_pair;
  std::int64_t seed = 1;
  int seeds = 16;
};

void visit_fields(FieldVisitor& visit, ValiantSpec& spec) {
  visit("nonminimal", spec.nonminimal, "fraction of the queue pairs, or packets, that take a detour", between(0, 1));
  visit("choice", spec.choice, "what takes a detour: each queue pair, or each packet");
  visit("seed", spec.seed, "seed of the first sample", at_least(0));
  visit("seeds", spec.seeds, "number of samples", between(1, 100000));
}

Samples samples(const ValiantSpec& spec) {
  if (spec.choice == DetourChoice::packet) return {};
  return {static_cast<std::uint64_t>(spec.seed), spec.seeds};
}
// At each switch packets take the next hop by its load, so links are as busy as with adaptive routing.
PathKind paths_of(const ValiantSpec& spec) {
  return spec.choice == DetourChoice::queue_pair ? PathKind::by_chance : PathKind::by_load;
}

namespace {

class ValiantRouter final : public DetourRouter {
 public:
  ValiantRouter(const Fabric& fabric, const LinkState& state, DetourParts parts, std::uint64_t seed, bool by_load)
      : DetourRouter(fabric, state, std::move(parts), by_load), given_seed_(seed), seed_(mix64(seed ^ 0x76616c)) {}

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    if (flow.from == flow.to) return true;
    const GraphPaths::Port &from = paths_.port(flow.from), &to = paths_.port(flow.to);
    const std::uint64_t key = flow_key(seed_, flow);
    const std::uint32_t over = intermediate(from.at, to.at, key);
    // Numbers of their own, so that links do not depend on which switch was taken.
    const std::uint64_t first = mix64(key ^ 0x6669727374), second = mix64(key ^ 0x7365636f6e64);
    return paths_.take(from.up, path) && minimal(from.at, over, first, path) && minimal(over, to.at, second, path) &&
           paths_.take(to.down, path);
  }
  bool settled(std::uint32_t from, std::uint32_t to) const override { return direct(from, to); }
  bool ends_at_ports() const override { return paths_.ends_at_ports(); }
  Parting parting() const override { return paths_.ports_first() ? Parting::at_random : Parting::one_by_one; }

  // Each flow takes a random intermediate switch. The two halves of the paths are then distributed as minimal flows are.
  void part_pairs(std::span<const SwitchFlows> pairs, std::uint64_t stream,
                  const std::function<void(std::uint32_t, double)>& add) const override {
    const std::uint32_t n = paths_.switches();
    std::vector<std::uint64_t> out(std::size_t{n} * n, 0), in(out);  // by second end of the half, then by its first
    std::uint64_t flow = 0;
    for (const SwitchFlows& pair : pairs) {
      if (parts_.of(pair.from, pair.to) == 0) {
        out[std::size_t{pair.to} * n + pair.from] += pair.flows;
        flow += pair.flows;
        continue;
      }
      for (std::uint64_t f = 0; f < pair.flows; ++f) {
        const std::uint32_t over = intermediate(pair.from, pair.to, mix64(mix64(seed_ + stream) + ++flow));
        if (over != pair.from) ++out[std::size_t{over} * n + pair.from];
        if (over != pair.to) ++in[std::size_t{pair.to} * n + over];
      }
    }
    std::uint64_t half = stream;
    for (const auto* flows : {&out, &in}) {
      std::vector<SwitchFlows> list;
      for (std::size_t i = 0; i < flows->size(); ++i)
        if ((*flows)[i] > 0)
          list.push_back({static_cast<std::uint32_t>(i % n), static_cast<std::uint32_t>(i / n), (*flows)[i]});
      paths_.part(std::span<const SwitchFlows>(list), RandomSplit(mix64(seed_ ^ mix64(++half << 8))), add);
    }
  }

 private:
  std::unique_ptr<Router> with_parts(DetourParts parts) const override {
    return make_detour_router(paths_.fabric(), paths_.state(), std::move(parts), given_seed_, true);
  }
  /// The switch over which a flow goes; one of its ends if it stays minimal.
  std::uint32_t intermediate(std::uint32_t from, std::uint32_t to, std::uint64_t key) const {
    const std::span<const std::uint32_t> among = detours_.among(from, to);
    if (among.empty()) return to;
    const double part = parts_.of(from, to);
    if (part < 1 && static_cast<double>(mix64(key) >> 11) * 0x1.0p-53 >= part) return to;
    // Tried again while it does not suit. Where none does, the flow stays minimal.
    for (int attempt = 0; attempt < 64; ++attempt) {
      key = mix64(key + 1);
      const std::uint32_t over = among[pick_of(key, among.size())];
      if (detours_.suits(from, over, to)) return over;
    }
    return to;
  }
  bool minimal(std::uint32_t here, std::uint32_t to, std::uint64_t key, Path& path) const {
    return paths_.walk(here, to, path, [&](std::uint32_t, std::uint32_t n) {
      key = mix64(key + 1);
      return pick_of(key, n);
    });
  }

  std::uint64_t given_seed_, seed_;
};

}  // namespace

std::unique_ptr<Router> make_detour_router(const Fabric& fabric, const LinkState& state, DetourParts parts,
                                           std::uint64_t seed, bool by_load) {
  return std::make_unique<ValiantRouter>(fabric, state, std::move(parts), seed, by_load);
}

void require_detours(const Fabric& fabric, std::string_view policy) {
  if (!fabric.metric() || planes_of(fabric))
    throw UserError::at("routing.kind", fmt::format("{} needs a fabric with direct links between its switches", policy),
                        "use it with fabric.kind dragonfly, dragonfly_plus, torus, hyperx or ocs");
}

std::unique_ptr<Router> make_router(const ValiantSpec& spec, const Fabric& fabric, const LinkState& state,
                                    std::uint64_t seed) {
  require_detours(fabric, "valiant");
  if (spec.choice == DetourChoice::packet && fabric.switches() > most_detoured_switches)
    throw UserError::at("routing.choice",
                        fmt::format("packets take detours over all of {} switches; at most {} are supported",
                                    fabric.switches(), most_detoured_switches),
                        "use choice: queue_pair");
  const DetourParts parts(spec.nonminimal);
  return spec.choice == DetourChoice::packet ? make_detour_spreader(fabric, state, parts, false)
                                             : make_detour_router(fabric, state, parts, seed, false);
}

RoutingPolicy valiant_routing() {
  return make_routing_policy<ValiantSpec>(
      "valiant", "paths over a random intermediate switch, one for each queue pair or packet", "[Valiant1982]");
}

}  // namespace fabricast
