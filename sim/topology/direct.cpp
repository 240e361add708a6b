// NIC cables and ports of fabrics without a tier above (direct.hpp).
#include "direct.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"

namespace fabricast {

void visit_direct(FieldVisitor& visit, DirectBasics& basics) {
  visit_basics(visit, basics);
  visit("nodes_per_switch", basics.nodes_per_switch, "nodes for each switch that has NICs; 0: distributed evenly",
        between(0, 1e6));
  visit("node_switches", basics.node_switches, "switches that the NIC ports of a node take in turn", between(1, 64));
  visit("breakout", basics.breakout, "NIC ports per port of a switch: 2 splits 200 Gb/s into 2 x 100 Gb/s",
        between(1, 8));
}

BytesPerSecond offered_rate(const DirectBasics& spec) { return spec.switch_box.rate * (1.0 / spec.breakout); }

Attachment attach(const DirectBasics& spec, const FabricDemand& demand, std::uint32_t switches) {
  Attachment at;
  at.ports_per_node = demand.ports_per_node;
  at.node_switches = static_cast<std::uint32_t>(spec.node_switches);
  if (at.node_switches > demand.ports_per_node || switches % at.node_switches != 0)
    throw UserError::at(
        "fabric.node_switches",
        fmt::format("nodes of {} NIC ports on {} switches of {}", demand.ports_per_node, at.node_switches, switches),
        "at most the NIC ports of a node, and a divisor of the number of switches");
  const std::uint32_t blocks = switches / at.node_switches;
  // A switch sees a part of each node, so a block of r switches takes r times the nodes of one.
  at.nodes_per_block = spec.nodes_per_switch > 0 ? static_cast<std::uint32_t>(spec.nodes_per_switch) * at.node_switches
                                                 : std::max(1U, (demand.nodes + blocks - 1) / blocks);
  if (const std::uint64_t room = std::uint64_t{blocks} * at.nodes_per_block; room < demand.nodes)
    throw UserError::at("fabric.nodes_per_switch",
                        fmt::format("the switches have room for {} nodes, but there are {}", room, demand.nodes),
                        "use more switches, or more nodes per switch");
  return at;
}

std::uint32_t nic_ports(const DirectBasics& spec, const Attachment& at) {
  const auto breakout = static_cast<std::uint32_t>(spec.breakout);
  return (at.ports_per_switch() + breakout - 1) / breakout;
}

void require_ports(const FabricBasics& basics, std::string_view what, std::uint64_t needed) {
  if (needed > static_cast<std::uint64_t>(basics.switch_box.ports))
    throw UserError::at("fabric.switch.ports",
                        fmt::format("{} needs {} ports but has {}", what, needed, basics.switch_box.ports),
                        "use switches with more ports, or fewer cables or nodes");
}

FabricBuilder begin_direct(const DirectBasics& spec, const FabricDemand& demand, const Attachment& at,
                           std::uint32_t leaves, std::uint32_t spines) {
  FabricBuilder builder(demand.nodes, demand.ports_per_node);
  for (std::uint32_t s = 0; s < leaves; ++s) builder.add_switch(Tier::leaf);
  for (std::uint32_t s = 0; s < spines; ++s) builder.add_switch(Tier::spine);
  const auto [up, down] = nic_classes(spec, demand, demand.port_rate * demand.nic_efficiency, offered_rate(spec));
  const std::uint32_t endpoints = demand.nodes * demand.ports_per_node;
  for (std::uint32_t e = 0; e < endpoints; ++e)
    builder.add_cable(VertexId(e), VertexId(endpoints + at.switch_of(e)), up, down);
  return builder;
}

}  // namespace fabricast
