// Two tiers, leaf and spine, with the numbers of switches given. Every leaf has `cables` cables to every spine.
// With ideal load balancing it is non-blocking if spines * cables * rate >= ports in use at a leaf * NIC rate.
#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "sizing.hpp"

namespace fabricast {

struct LeafSpineSpec : FabricBasics {
  int leaves = 2;
  int spines = 2;
  int cables = 1;
  int nodes_per_leaf = 0;
};

void visit_fields(FieldVisitor& visit, LeafSpineSpec& spec) {
  visit_basics(visit, spec);
  visit("leaves", spec.leaves, "number of leaf switches", between(1, 1e6));
  visit("spines", spec.spines, "number of spine switches", between(1, 1e6));
  visit("cables", spec.cables, "parallel cables between each leaf and spine", between(1, 1024));
  visit("nodes_per_leaf", spec.nodes_per_leaf, "nodes per leaf; 0: distributed evenly", between(0, 1e6));
}

Fabric build(const LeafSpineSpec& spec, const FabricDemand& demand) {
  const auto leaves = static_cast<std::uint32_t>(spec.leaves), spines = static_cast<std::uint32_t>(spec.spines);
  Clos clos;
  clos.endpoints = demand.nodes * demand.ports_per_node;
  clos.ports_per_node = demand.ports_per_node;
  // One group without cores: all leaves connect to all spines.
  clos.nodes_per_block =
      spec.nodes_per_leaf > 0 ? static_cast<std::uint32_t>(spec.nodes_per_leaf) : (demand.nodes + leaves - 1) / leaves;
  clos.leaves = clos.leaves_per_group = leaves;
  clos.spines_per_group = spines;
  clos.leaf_spine_cables = static_cast<std::uint32_t>(spec.cables);
  clos.leaf_up = spines * clos.leaf_spine_cables;

  const auto refuse = [](std::string_view path, std::string message) {
    throw UserError::at(std::string(path), std::move(message));
  };
  // Counts are given, not derived, so they are checked against the ports of a switch at every tier.
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  if (std::uint64_t{clos.nodes_per_block} * leaves < demand.nodes)
    refuse("fabric.nodes_per_leaf", fmt::format("the leaves have room for {} nodes, but there are {}",
                                                std::uint64_t{clos.nodes_per_block} * leaves, demand.nodes));
  if (const std::uint64_t used = std::uint64_t{clos.nodes_per_block} * demand.ports_per_node + clos.leaf_up;
      used > ports)
    refuse("fabric.switch.ports", fmt::format("a leaf needs {} ports but has {}", used, ports));
  if (const std::uint64_t used = std::uint64_t{leaves} * clos.leaf_spine_cables; used > ports)
    refuse("fabric.switch.ports", fmt::format("a spine needs {} ports but has {}", used, ports));
  return build_clos_fabric(clos, spec, demand);
}

Topology leaf_spine() {
  return make_topology<LeafSpineSpec>("leaf_spine", "two tiers with given numbers of leaves and spines", "[Clos1953]");
}

}  // namespace fabricast
