// HyperX [Ahn2009]: in each dimension all switches with equal other coordinates are connected to each other. One
// dimension is a full mesh; two are a flattened butterfly.
#include "lattice.hpp"

namespace fabricast {

struct HyperxSpec : LatticeBasics {};

void visit_fields(FieldVisitor& visit, HyperxSpec& spec) { visit_lattice(visit, spec); }

Fabric build(const HyperxSpec& spec, const FabricDemand& demand) {
  LatticeBuilder builder(spec, demand, [](std::uint32_t size) { return size - 1; });
  const Lattice& lattice = builder.lattice();
  for (std::uint32_t point = 0; point < lattice.points(); ++point)
    for (std::size_t d = 0; d < lattice.sizes().size(); ++d)
      for (std::uint32_t there = lattice.coordinate(point, d) + 1; there < lattice.sizes()[d]; ++there)
        builder.connect(point, lattice.moved(point, d, there));
  const Apart differs = [](std::uint32_t a, std::uint32_t b, std::uint32_t) { return a == b ? 0U : 1U; };
  return std::move(builder).build("hyperx", differs);
}

Topology hyperx() {
  return make_topology<HyperxSpec>("hyperx", "switches connected to all others along one or more dimensions",
                                   "[Ahn2009]");
}

}  // namespace fabricast
