// Adaptive routing: each packet takes the least loaded of the equal-cost links. In the fluid limit a flow spreads over
// all of them in proportion to their free capacity, so a tier of links acts as one link with the sum of their rates.
//
// Not modelled: reordering, and the microseconds that the switches need to react.
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
      "adaptive", "each packet takes the least loaded link; a tier acts as one fast link", "[FABRICS-6]");
}

}  // namespace fabricast
