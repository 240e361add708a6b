// One switch for all NICs: the ideal fabric, and the real one of a few nodes. The switch is non-blocking, so only the
// NICs limit.
#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "sizing.hpp"

namespace fabricast {

struct SingleSwitchSpec : FabricBasics {
  bool unlimited_ports = true;
};

void visit_fields(FieldVisitor& visit, SingleSwitchSpec& spec) {
  visit_basics(visit, spec);
  visit("unlimited_ports", spec.unlimited_ports, "whether the switch has as many ports as there are NICs");
}

Fabric build(const SingleSwitchSpec& spec, const FabricDemand& demand) {
  Clos clos;
  clos.endpoints = demand.nodes * demand.ports_per_node;
  clos.ports_per_node = demand.ports_per_node;
  // One leaf with all nodes, and nothing above it.
  clos.nodes_per_block = demand.nodes;
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  if (!spec.unlimited_ports && clos.endpoints > ports)
    throw UserError::at("fabric.switch.ports",
                        fmt::format("{} NIC ports do not fit on one {}-port switch", clos.endpoints, ports),
                        "use leaf_spine or fat_tree");
  return build_clos_fabric(clos, spec, demand);
}

Topology single_switch() {
  return make_topology<SingleSwitchSpec>("single_switch", "one non-blocking switch for all NICs", "");
}

}  // namespace fabricast
