// Packet spray: packets take the equal-cost links in turn, whatever their load, so each link carries the same amount.
// This equals adaptive routing as long as the links are alike. A slow link limits all the others to its own rate.
#include "router.hpp"

namespace fabricast {

struct SpraySpec {};
void visit_fields(FieldVisitor&, SpraySpec&) {}
Samples samples(const SpraySpec&) { return {}; }
PathKind paths_of(const SpraySpec&) { return PathKind::in_turn; }

std::unique_ptr<Router> make_router(const SpraySpec&, const Fabric& fabric, const LinkState& state, std::uint64_t) {
  return make_spreading_router(fabric, state, true);
}

RoutingPolicy spray_routing() {
  return make_routing_policy<SpraySpec>("spray", "packets are spread evenly over all equal-cost links", "[Dixit2013]");
}

}  // namespace fabricast
