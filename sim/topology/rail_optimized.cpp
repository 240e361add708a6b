// Rail-optimized fabric: in each scalable unit (SU), NIC k of every node connects to leaf k, so that NICs of the same
// rail are one switch apart. Spines, and cores in large clusters, connect the rails and the SUs. This is the design of
// the DGX SuperPOD reference architecture [SuperPOD-H100], and its table of switches and cables is reproduced (tested).
//
// With three tiers the spines of a group serve leaves of one rail (`grouping: rail`). NCCL's rings and trees keep to
// their rail and thus stay below the cores. `grouping: pod` groups whole SUs instead, and `nodes_per_island` says how many:
// rails then meet only in an island, and cores, often oversubscribed, join islands.
#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "sizing.hpp"

namespace fabricast {

enum class RailGrouping { rail, pod };
template <>
struct EnumNames<RailGrouping> {
  static constexpr std::array<std::string_view, 2> names{"rail", "pod"};
};

struct RailOptimizedSpec : TieredBasics {
  int nodes_per_su = 0;
  int nodes_per_island = 0;
  int tiers = 0;
  RailGrouping grouping = RailGrouping::rail;
};

void visit_fields(FieldVisitor& visit, RailOptimizedSpec& spec) {
  visit_tiers(visit, spec);
  visit("nodes_per_su", spec.nodes_per_su, "nodes of a scalable unit; 0: as many as a leaf has ports for",
        between(0, 1e6));
  visit("nodes_per_island", spec.nodes_per_island,
        "nodes of an island, which has separate spines; cores join islands, but with tiers: 2 nothing joins them; 0: "
        "by the ports of the spines",
        between(0, 1e6));
  visit("tiers", spec.tiers, "2 or 3 tiers of switches; 0: as few as possible", between(0, 3));
  visit("grouping", spec.grouping,
        "what the spines of a group serve, with three tiers: leaves of one rail, or whole SUs");
}

Fabric build(const RailOptimizedSpec& spec, const FabricDemand& demand) {
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  const PortSplit leaf = leaf_ports(spec);
  const std::uint32_t rails = demand.ports_per_node;
  Clos clos;
  clos.endpoints = demand.nodes * rails;
  clos.ports_per_node = clos.rails = rails;
  clos.nodes_per_block = spec.nodes_per_island > 0
                             ? nodes_per_block(spec.nodes_per_su, spec.nodes_per_island, leaf.down)
                         : spec.nodes_per_su > 0 ? static_cast<std::uint32_t>(spec.nodes_per_su)
                                                 : leaf.down;
  if (clos.nodes_per_block > leaf.down)
    throw UserError::at(
        "fabric.nodes_per_su",
        fmt::format("{} nodes do not fit on a leaf, which has {} ports for nodes", clos.nodes_per_block, leaf.down));
  const std::uint32_t units = (demand.nodes + clos.nodes_per_block - 1) / clos.nodes_per_block;
  if (spec.nodes_per_island > 0) {
    // Rails meet at the spines of their island, whatever `grouping`.
    const std::uint32_t of_island = static_cast<std::uint32_t>(spec.nodes_per_island) / clos.nodes_per_block;
    size_given_groups(clos, of_island * rails, (units + of_island - 1) / of_island, 1, spec, spec.tiers);
    clos.block_stride = rails;
    clos.rail_stride = 1;
    return build_tiered_fabric(clos, spec, demand);
  }
  clos.leaves = units * rails;
  // Decides between two and three tiers, over all leaves together.
  size_upper_tiers(clos, clos.leaves, spec, spec.tiers);
  if (clos.cores_per_plane == 0 || spec.grouping == RailGrouping::pod) {
    // Leaves of a unit are consecutive: rail r of unit u is leaf u x rails + r.
    clos.block_stride = rails;
    clos.rail_stride = 1;
    if (clos.groups > 1) clos.leaves = clos.groups * clos.leaves_per_group;
  } else {
    // Each rail has whole groups of its own.
    const PortSplit spine = spine_ports(spec);
    const std::uint32_t groups_per_rail = (units + spine.down - 1) / spine.down;
    clos.leaves_per_group = (units + groups_per_rail - 1) / groups_per_rail;
    clos.groups = clos.groups_per_island = groups_per_rail * rails;
    clos.leaves = clos.groups * clos.leaves_per_group;
    clos.spines_per_group = fewest_uppers(clos.leaves_per_group, leaf.up, spine.down);
    clos.cores_per_plane = fewest_uppers(clos.groups, spine.up, ports);
    if (clos.spines_per_group == 0 || clos.cores_per_plane == 0)
      throw UserError::at("fabric.switch.ports",
                          fmt::format("{} units of {} nodes on {} rails do not fit in three tiers of {}-port switches",
                                      units, clos.nodes_per_block, rails, ports),
                          "use switches with more ports, or rail_only");
    clos.leaf_spine_cables = leaf.up / clos.spines_per_group;
    clos.spine_core_cables = spine.up / clos.cores_per_plane;
    // Leaves of a rail are consecutive.
    clos.block_stride = 1;
    clos.rail_stride = groups_per_rail * clos.leaves_per_group;
  }
  return build_tiered_fabric(clos, spec, demand);
}

Topology rail_optimized() {
  return make_topology<RailOptimizedSpec>(
      "rail_optimized", "one leaf per rail in each unit of nodes; spines connect rails and units", "[SuperPOD-H100]");
}

}  // namespace fabricast
