// Adaptive routing: switches send packets over the least loaded of the equal-cost links.
//
//   by: packet    every packet takes the least loaded link, as InfiniBand does [FABRICS-6]. In the fluid limit a flow
//                 spreads over all links in proportion to their free capacity, so a tier of links acts as one link with
//                 the sum of their rates.
//   by: flowlet   a link is chosen where a flow pauses, and kept until it pauses again. Long messages leave no gaps, so
//                 a flow stays where it started. Flows that start together find all queues empty, so their links are
//                 those of a random choice: with it, mean and last ends of 20 runs of packets are met
//                 (docs/validation-packets.md); choices of the link with fewest flows would end 20 % too early.
//
// A seed stands for one launch, as for ecmp. Not modelled: reordering, the microseconds that the switches need to
// react, and flows that move at a pause.
#include "fabricast/core/rng.hpp"
#include "router.hpp"

namespace fabricast {

enum class AdaptiveUnit { packet, flowlet };
template <>
struct EnumNames<AdaptiveUnit> {
  static constexpr std::array<std::string_view, 2> names{"packet", "flowlet"};
};

struct AdaptiveSpec {
  AdaptiveUnit by = AdaptiveUnit::packet;
  std::int64_t seed = 1;
  int seeds = 16;
};

void visit_fields(FieldVisitor& visit, AdaptiveSpec& spec) {
  visit("by", spec.by, "packet: each packet takes the least loaded link; flowlet: a flow keeps the link it starts on");
  if (spec.by == AdaptiveUnit::packet) return;
  visit("seed", spec.seed, "seed of the first sample: where flows start", at_least(0));
  visit("seeds", spec.seeds, "number of samples", between(1, 100000));
}

Samples samples(const AdaptiveSpec& spec) {
  if (spec.by == AdaptiveUnit::packet) return {};
  return {static_cast<std::uint64_t>(spec.seed), spec.seeds};
}

PathKind paths_of(const AdaptiveSpec& spec) {
  return spec.by == AdaptiveUnit::flowlet ? PathKind::by_chance : PathKind::by_load;
}

namespace {

/// A Chooser (router.hpp): any link, at each switch anew.
class FlowletChooser {
 public:
  using Key = std::uint64_t;

  explicit FlowletChooser(std::uint64_t seed) : seed_(mix64(seed ^ 0x666c6f77)) {}

  Key key(const Flow& flow) const { return flow_key(seed_, flow); }
  bool independent() const { return true; }
  std::uint64_t seed() const { return seed_; }
  std::uint32_t pick(Key key, std::uint32_t vertex, int, std::uint32_t choices) const {
    return pick_of(mix64(key ^ vertex), choices);
  }

 private:
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Router> make_router(const AdaptiveSpec& spec, const Fabric& fabric, const LinkState& state,
                                    std::uint64_t seed) {
  if (spec.by == AdaptiveUnit::flowlet) return make_choosing_router(fabric, state, FlowletChooser(seed));
  return make_spreading_router(fabric, state, false);
}

RoutingPolicy adaptive_routing() {
  return make_routing_policy<AdaptiveSpec>(
      "adaptive", "each packet (or flowlet) takes the least loaded link; by packet, a tier acts as one fast link",
      "[FABRICS-6]");
}

}  // namespace fabricast
