// Fat tree of one, two or three tiers, sized to the cluster. All NICs of a node connect to the same leaf.
//
// With radix k and no oversubscription, three full tiers are the k-ary fat tree of [AlFares2008]: k^3/4 NIC ports,
// k^2/2 leaves, k^2/2 spines, k^2/4 cores. Fewer NICs need fewer leaves. The numbers of spines and cores are the
// smallest over which the cables of the leaves can be distributed evenly. Oversubscription is down : up at the leaf
// and, with three tiers, at the spine.
#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "sizing.hpp"

namespace fabricast {

struct FatTreeSpec : TieredBasics {
  int tiers = 0;
};

void visit_fields(FieldVisitor& visit, FatTreeSpec& spec) {
  visit_tiers(visit, spec);
  visit("tiers", spec.tiers, "1, 2 or 3 tiers of switches; 0: as few as possible", between(0, 3));
}

Fabric build(const FatTreeSpec& spec, const FabricDemand& demand) {
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  const PortSplit leaf = leaf_ports(spec);
  Clos clos;
  clos.endpoints = demand.nodes * demand.ports_per_node;
  clos.ports_per_node = demand.ports_per_node;
  // If the cluster fits on one switch, no cable goes up, and all ports face down.
  const bool one_switch = spec.tiers <= 1 && clos.endpoints <= lone_leaf_ports(spec);
  const std::uint32_t down = one_switch ? lone_leaf_ports(spec) : leaf.down;
  clos.nodes_per_block = down / demand.ports_per_node;
  if (clos.nodes_per_block == 0)
    throw UserError::at("fabric.switch.ports",
                        fmt::format("a node has {} NIC ports, but a leaf has only {} port{} for nodes",
                                    demand.ports_per_node, down, down == 1 ? "" : "s"),
                        "use switches with more ports, or rail_optimized");
  // A node is never divided over leaves, so a leaf may have ports to spare.
  clos.leaves = (demand.nodes + clos.nodes_per_block - 1) / clos.nodes_per_block;
  if (spec.tiers == 1 && clos.leaves > 1)
    throw UserError::at("fabric.tiers",
                        fmt::format("{} NIC ports do not fit in one tier of {}-port switches", clos.endpoints, ports));
  size_upper_tiers(clos, clos.leaves, spec, spec.tiers);
  // All groups have the same number of leaves, so that pods are alike. The last one may be partly filled.
  if (clos.groups > 1) clos.leaves = clos.groups * clos.leaves_per_group;
  return build_tiered_fabric(clos, spec, demand);
}

Topology fat_tree() {
  return make_topology<FatTreeSpec>(
      "fat_tree", "folded Clos of 1 to 3 tiers sized to the cluster, all NICs of a node on one leaf", "[AlFares2008]");
}

}  // namespace fabricast
