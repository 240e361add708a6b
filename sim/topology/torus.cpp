// Torus: in each dimension the switches form rings. With one switch per node it is the network of TPU pods
// [Jouppi2023].
//
// A ring of two switches has one cable (times `cables`), not two. Minimal paths go around each ring in the shorter
// direction; if both are equally long, both are minimal.
#include <algorithm>

#include "lattice.hpp"

namespace fabricast {

struct TorusSpec : LatticeBasics {};

void visit_fields(FieldVisitor& visit, TorusSpec& spec) { visit_lattice(visit, spec); }

Fabric build(const TorusSpec& spec, const FabricDemand& demand) {
  LatticeBuilder builder(spec, demand, [](std::uint32_t size) { return std::min(size - 1, 2U); });
  const Lattice& lattice = builder.lattice();
  for (std::uint32_t point = 0; point < lattice.points(); ++point)
    for (std::size_t d = 0; d < lattice.sizes().size(); ++d) {
      const std::uint32_t size = lattice.sizes()[d], here = lattice.coordinate(point, d);
      // The last switch of a ring closes it, unless the ring has only two.
      if (size == 1 || (size == 2 && here == 1)) continue;
      builder.connect(point, lattice.moved(point, d, (here + 1) % size));
    }
  const Apart around = [](std::uint32_t a, std::uint32_t b, std::uint32_t size) {
    const std::uint32_t between = a < b ? b - a : a - b;
    return std::min(between, size - between);
  };
  return std::move(builder).build("torus", around);
}

Topology torus() {
  return make_topology<TorusSpec>("torus", "switches in rings along one or more dimensions", "[Jouppi2023]");
}

}  // namespace fabricast
