// Torus: in each dimension the switches form rings. With one switch per node it is the network of TPU pods
// [Jouppi2023].
//
// A ring of two switches has one cable (times `cables`), not two. Minimal paths go the shorter way around each ring; if
// both ways are equally long, both are minimal.
#include <algorithm>

#include "lattice.hpp"

namespace fabricast {

struct TorusSpec : LatticeBasics {};

void visit_fields(FieldVisitor& visit, TorusSpec& spec) { visit_lattice(visit, spec); }

Fabric build(const TorusSpec& spec, const FabricDemand& demand) {
  const Lattice lattice = lattice_of(spec);
  const Attachment at = attach(spec, demand, lattice.points());
  const auto cables = static_cast<std::uint32_t>(spec.cables);
  std::uint32_t neighbours = 0;
  for (const std::uint32_t size : lattice.sizes()) neighbours += std::min(size - 1, 2U);
  require_ports(spec, "a switch", nic_ports(spec, at) + std::uint64_t{neighbours} * cables);

  FabricBuilder builder = begin_direct(spec, demand, at, lattice.points(), 0);
  const std::uint32_t first = demand.nodes * demand.ports_per_node;
  const LinkClass between = between_switches(spec, demand, spec.cable);
  for (std::uint32_t point = 0; point < lattice.points(); ++point)
    for (std::size_t d = 0; d < lattice.sizes().size(); ++d) {
      const std::uint32_t size = lattice.sizes()[d], here = lattice.coordinate(point, d);
      // The last switch of a ring closes it, unless the ring has only two.
      if (size == 1 || (size == 2 && here == 1)) continue;
      for (std::uint32_t c = 0; c < cables; ++c)
        builder.add_cable(VertexId(first + point), VertexId(first + lattice.moved(point, d, (here + 1) % size)),
                          between, between);
    }
  const Apart around = [](std::uint32_t a, std::uint32_t b, std::uint32_t size) {
    const std::uint32_t way = a < b ? b - a : a - b;
    return std::min(way, size - way);
  };
  builder.set_metric(lattice_distances("torus", lattice, around, spec.paths == LatticePaths::dimension_order));
  return std::move(builder).build();
}

Topology torus() {
  return make_topology<TorusSpec>("torus", "switches in rings along one or more dimensions", "[Jouppi2023]");
}

}  // namespace fabricast
