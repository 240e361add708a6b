// Adaptive routing: each packet takes the least loaded of the equal-cost links. In the fluid limit a flow spreads over
// all of them in proportion to what they can still carry, so a tier of links acts as one link of their summed rate.
// An approximation: reordering, and the microseconds the switches need to react, are not modelled.
#include "router.hpp"

namespace fabricast {

struct AdaptiveSpec {};
void visit_fields(FieldVisitor&, AdaptiveSpec&) {}
Samples samples(const AdaptiveSpec&) { return {}; }

std::unique_ptr<Router> make_router(const AdaptiveSpec&, const Fabric& fabric, const LinkState& state, std::uint64_t) {
  return make_spreading_router(fabric, state, false);
}

RoutingPolicy adaptive_routing() {
  return make_routing_policy<AdaptiveSpec>(
      "adaptive", "each packet to the least loaded link; a tier acts as one fat link", "[FABRICS-6]");
}

}  // namespace fabricast
