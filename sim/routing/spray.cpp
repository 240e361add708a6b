// Packet spray: each packet to the next of the equal-cost links, whatever their load, in equal parts. Equal to
// adaptive routing while the links are alike; a slow member holds all the others back to its own rate.
#include "router.hpp"

namespace fabricast {

struct SpraySpec {};
void visit_fields(FieldVisitor&, SpraySpec&) {}
Samples samples(const SpraySpec&) { return {}; }

std::unique_ptr<Router> make_router(const SpraySpec&, const Fabric& fabric, const LinkState& state, std::uint64_t) {
  return make_spreading_router(fabric, state, true);
}

RoutingPolicy spray_routing() {
  return make_routing_policy<SpraySpec>("spray", "packets in equal parts over all equal-cost links", "[Dixit2013]");
}

}  // namespace fabricast
