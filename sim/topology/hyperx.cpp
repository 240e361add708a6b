// HyperX [Ahn2009]: in each dimension all switches with equal other coordinates are connected to each other. One
// dimension is a full mesh; two are a flattened butterfly.
#include "lattice.hpp"

namespace fabricast {

struct HyperxSpec : LatticeBasics {};

void visit_fields(FieldVisitor& visit, HyperxSpec& spec) { visit_lattice(visit, spec); }

Fabric build(const HyperxSpec& spec, const FabricDemand& demand) {
  const Lattice lattice = lattice_of(spec);
  const Attachment at = attach(spec, demand, lattice.points());
  const auto cables = static_cast<std::uint32_t>(spec.cables);
  std::uint64_t neighbours = 0;
  for (const std::uint32_t size : lattice.sizes()) neighbours += size - 1;
  require_ports(spec, "a switch", nic_ports(spec, at) + neighbours * cables);

  FabricBuilder builder = begin_direct(spec, demand, at, lattice.points(), 0);
  const std::uint32_t first = demand.nodes * demand.ports_per_node;
  const LinkClass between = between_switches(spec, demand, spec.cable);
  for (std::uint32_t point = 0; point < lattice.points(); ++point)
    for (std::size_t d = 0; d < lattice.sizes().size(); ++d)
      for (std::uint32_t there = lattice.coordinate(point, d) + 1; there < lattice.sizes()[d]; ++there)
        for (std::uint32_t c = 0; c < cables; ++c)
          builder.add_cable(VertexId(first + point), VertexId(first + lattice.moved(point, d, there)), between,
                            between);
  const Apart differs = [](std::uint32_t a, std::uint32_t b, std::uint32_t) { return a == b ? 0U : 1U; };
  builder.set_metric(lattice_distances("hyperx", lattice, differs, spec.paths == LatticePaths::dimension_order));
  return std::move(builder).build();
}

Topology hyperx() {
  return make_topology<HyperxSpec>("hyperx", "switches connected to all others along one or more dimensions",
                                   "[Ahn2009]");
}

}  // namespace fabricast
