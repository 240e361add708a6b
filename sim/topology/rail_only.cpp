// Rail-only fabric [Wang2023]: each rail is a network of its own, and only NVLink inside the nodes connects the rails.
// Rings and trees lose nothing. Traffic between different rails must first be forwarded inside a node.
//
// `nodes_per_island` divides every rail into islands with spines of their own, which cores of the rail join.
//
// The Clos network is built once with islands that no core joins: an island is a rail.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "sizing.hpp"

namespace fabricast {

struct RailOnlySpec : TieredBasics {
  int nodes_per_su = 0;
  int nodes_per_island = 0;
  int tiers = 0;
};

void visit_fields(FieldVisitor& visit, RailOnlySpec& spec) {
  visit_tiers(visit, spec);
  visit("nodes_per_su", spec.nodes_per_su, "nodes per leaf; 0: as many as it has ports for", between(0, 1e6));
  visit("nodes_per_island", spec.nodes_per_island,
        "nodes of an island, which has separate spines; cores join islands, but with tiers: 2 nothing joins them; 0: "
        "by the ports of the spines",
        between(0, 1e6));
  visit("tiers", spec.tiers, "1, 2 or 3 tiers of switches; 0: as few as possible", between(0, 3));
}

Fabric build(const RailOnlySpec& spec, const FabricDemand& demand) {
  const std::uint32_t lone = lone_leaf_ports(spec);
  const std::uint32_t rails = demand.ports_per_node;
  Clos clos;
  clos.endpoints = demand.nodes * rails;
  clos.ports_per_node = clos.rails = rails;
  if (spec.nodes_per_island > 0) {
    clos.nodes_per_block = nodes_per_block(spec.nodes_per_su, spec.nodes_per_island, leaf_ports(spec).down);
    const std::uint32_t of_island = static_cast<std::uint32_t>(spec.nodes_per_island) / clos.nodes_per_block;
    const std::uint32_t units = (demand.nodes + clos.nodes_per_block - 1) / clos.nodes_per_block;
    size_given_groups(clos, of_island, (units + of_island - 1) / of_island, rails, spec, spec.tiers);
    clos.block_stride = 1;
    clos.rail_stride = clos.leaves / rails;
    return build_tiered_fabric(clos, spec, demand);
  }
  const bool one_tier = spec.tiers <= 1 && demand.nodes <= lone && spec.nodes_per_su == 0;
  clos.nodes_per_block = spec.nodes_per_su > 0 ? static_cast<std::uint32_t>(spec.nodes_per_su)
                         : one_tier            ? demand.nodes
                                               : leaf_ports(spec).down;
  const std::uint32_t units = (demand.nodes + clos.nodes_per_block - 1) / clos.nodes_per_block;
  // A leaf without uplinks uses all its ports for nodes.
  const std::uint32_t most = units == 1 && spec.tiers <= 1 ? lone : leaf_ports(spec).down;
  if (std::min<std::uint32_t>(clos.nodes_per_block, demand.nodes) > most)
    throw UserError::at(
        "fabric.nodes_per_su",
        fmt::format("{} nodes do not fit on a leaf, which has {} ports for nodes", clos.nodes_per_block, most));
  // Leaves of a rail are consecutive: block b of rail r is leaf r x leaves_per_rail + b.
  clos.leaves = units * rails;
  // Sized for one rail; the groups of all rails are alike.
  size_upper_tiers(clos, units, spec, spec.tiers);
  const std::uint32_t leaves_per_rail = clos.groups / rails * clos.leaves_per_group;
  clos.leaves = leaves_per_rail * rails;
  clos.block_stride = 1;
  clos.rail_stride = leaves_per_rail;
  return build_tiered_fabric(clos, spec, demand);
}

Topology rail_only() {
  return make_topology<RailOnlySpec>(
      "rail_only", "one separate network per rail, connected only by NVLink inside the nodes", "[Wang2023]");
}

}  // namespace fabricast
