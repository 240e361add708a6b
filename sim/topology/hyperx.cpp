// HyperX [Ahn2009]: in each dimension all switches with equal other coordinates are connected to each other. One
// dimension is a full mesh; two are a flattened butterfly.
#include "lattice.hpp"

namespace fabricast {

struct HyperxSpec : LatticeBasics {};

void visit_fields(FieldVisitor& visit, HyperxSpec& spec) { visit_lattice(visit, spec); }

Fabric build(const HyperxSpec& spec, const FabricDemand& demand) {
  LatticeBuilder builder(spec, demand, neighbours_in_mesh);
  for_each_in_meshes(builder.lattice(), [&](std::uint32_t a, std::uint32_t b) { builder.connect(a, b); });
  return std::move(builder).build("hyperx", apart_in_mesh);
}

Topology hyperx() {
  return make_topology<HyperxSpec>("hyperx", "switches connected to all others along one or more dimensions",
                                   "[Ahn2009]");
}

}  // namespace fabricast
