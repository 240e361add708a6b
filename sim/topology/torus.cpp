// Torus: in each dimension the switches form rings. With one switch per node it is the network of TPU pods
// [Jouppi2023].
//
// A ring of two switches has one cable (times `cables`), not two. Minimal paths go around each ring in the shorter
// direction; if both are equally long, both are minimal.
#include "lattice.hpp"

namespace fabricast {

struct TorusSpec : LatticeBasics {};

void visit_fields(FieldVisitor& visit, TorusSpec& spec) { visit_lattice(visit, spec); }

Fabric build(const TorusSpec& spec, const FabricDemand& demand) {
  LatticeBuilder builder(spec, demand, neighbours_in_ring);
  for_each_in_rings(builder.lattice(), [&](std::uint32_t a, std::uint32_t b) { builder.connect(a, b); });
  return std::move(builder).build("torus", apart_in_ring);
}

Topology torus() {
  return make_topology<TorusSpec>("torus", "switches in rings along one or more dimensions", "[Jouppi2023]");
}

}  // namespace fabricast
