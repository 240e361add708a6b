// Sizes of folded Clos networks (sizing.hpp), and the keys that topologies share.
//
// All topologies but `file` reduce to the numbers of a Clos structure, from which links and paths follow by arithmetic
// (fabric/clos.hpp). With P ports and oversubscription r (down : up):
//
//   up = ceil(P / (1 + r)),   down = min(P - up, floor(up r))                                                      (1)
//
// The spines of a group are the fewest over which the uplinks of each leaf can be distributed evenly [Clos1953].
#include "sizing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cables.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {
[[noreturn]] void does_not_fit(const std::string& what, const std::string& hint) {
  throw UserError::at("fabric.switch.ports", what, hint);
}
}  // namespace

void visit_fields(FieldVisitor& visit, SwitchSpec& spec) {
  visit("ports", spec.ports, "ports of a switch (radix)", between(2, 4096));
  visit("rate", spec.rate, "line rate of a port, one direction", line_rates);
  visit("latency", spec.latency, "latency from port to port, with FEC", between(0, 1));
}

void visit_basics(FieldVisitor& visit, FabricBasics& basics) {
  visit("switch", basics.switch_box, "the one kind of switch in the fabric");
  visit("cable", basics.cable, "length of each cable, for its propagation time", between(0, 1e5));
}

void visit_tiers(FieldVisitor& visit, TieredBasics& tiers) {
  visit_basics(visit, tiers);
  visit("oversubscription", tiers.oversubscription, "down : up at the leaf", proportion(1, 64));
  visit("spine_oversubscription", tiers.spine_oversubscription, "down : up at the spine, with three tiers",
        proportion(1, 64));
  visit("leaf_up", tiers.leaf_up, "uplink ports of a leaf; 0: by oversubscription", between(0, 4096));
  visit("spine_up", tiers.spine_up,
        "uplink ports of a spine, kept free for a core with two tiers; 0: by spine_oversubscription", between(0, 4096));
  visit("breakout", tiers.breakout, "NIC ports per port of a leaf: 2 splits 400 Gb/s into 2 x 200 Gb/s", between(1, 8));
  visit("planes", tiers.planes, "identical parallel networks, with a port of every NIC in each", between(1, 16));
}

namespace {
// Ports by (1), unless the user states the uplinks.
PortSplit split_by(const TieredBasics& spec, int up, double oversubscription, std::string_view path) {
  const int ports = spec.switch_box.ports;
  if (up == 0) return split_ports(static_cast<std::uint32_t>(ports), oversubscription);
  if (up >= ports)
    throw UserError::at(std::string(path),
                        fmt::format("{} of {} ports are uplinks, so no port is left for nodes", up, ports));
  return {static_cast<std::uint32_t>(ports - up), static_cast<std::uint32_t>(up)};
}
}  // namespace

PortSplit leaf_ports(const TieredBasics& spec) {
  PortSplit leaf = split_by(spec, spec.leaf_up, spec.oversubscription, "fabric.leaf_up");
  // Only ports towards NICs are split.
  leaf.down *= static_cast<std::uint32_t>(spec.breakout);
  return leaf;
}

PortSplit spine_ports(const TieredBasics& spec) {
  return split_by(spec, spec.spine_up, spec.spine_oversubscription, "fabric.spine_up");
}

// A leaf without uplinks has all its ports for NICs.
std::uint32_t lone_leaf_ports(const TieredBasics& spec) {
  return static_cast<std::uint32_t>(spec.switch_box.ports * spec.breakout);
}

PortSplit split_ports(std::uint32_t ports, double oversubscription) {
  // The tolerance keeps rounding errors of the division from adding a port.
  const auto up = static_cast<std::uint32_t>(std::ceil(ports / (1 + oversubscription) - 1e-9));
  const auto down = std::min(ports - up, static_cast<std::uint32_t>(std::floor(up * oversubscription + 1e-9)));
  return {std::max(1U, down), up};
}

std::uint32_t fewest_uppers(std::uint32_t lowers, std::uint32_t up, std::uint32_t ports) {
  for (std::uint32_t d = 1; d <= up; ++d)
    // Each of d switches gets up / d cables of every lower switch, and needs a port for each.
    if (up % d == 0 && std::uint64_t{lowers} * (up / d) <= ports) return d;
  return 0;
}

void size_upper_tiers(Clos& clos, std::uint32_t leaves_per_island, const TieredBasics& spec, int tiers) {
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  const std::uint32_t islands = clos.leaves / leaves_per_island;
  if (leaves_per_island == 1 && tiers <= 1) {  // nothing to connect
    clos.leaf_up = 0;
    clos.leaves_per_group = 1;
    clos.groups = clos.leaves;
    clos.spines_per_group = 0;
    return;
  }
  if (tiers == 1)
    throw UserError::at("fabric.tiers", fmt::format("{} leaves do not fit in one tier of switches", leaves_per_island),
                        "remove `tiers` to use as many as needed");
  const PortSplit leaf = leaf_ports(spec);
  clos.leaf_up = leaf.up;
  const PortSplit spine = spine_ports(spec);
  // With two tiers a spine may use all its ports for leaves, unless the user keeps some free for cores.
  const std::uint32_t spines = fewest_uppers(leaves_per_island, leaf.up, spec.spine_up > 0 ? spine.down : ports);
  if (spines > 0 && tiers != 3) {
    clos.leaves_per_group = leaves_per_island;
    clos.groups = islands;
    clos.spines_per_group = spines;
    clos.leaf_spine_cables = leaf.up / spines;
    return;
  }
  if (tiers == 2)
    does_not_fit(fmt::format("{} leaves do not fit in two tiers of {}-port switches", leaves_per_island, ports),
                 "use switches with more ports, or remove `tiers` to add a third tier");
  // As few groups as the ports of the spines allow, evenly filled.
  const std::uint32_t groups = (leaves_per_island + spine.down - 1) / spine.down;
  clos.leaves_per_group = (leaves_per_island + groups - 1) / groups;
  const std::uint32_t group_spines = fewest_uppers(clos.leaves_per_group, leaf.up, spine.down);
  const std::uint32_t cores = fewest_uppers(groups, spine.up, ports);
  if (group_spines == 0 || cores == 0) {
    const std::uint64_t most = std::uint64_t{leaf.down} * spine.down * ports;
    does_not_fit(fmt::format("{} leaves do not fit in three tiers of {}-port switches (at most {} NIC ports)",
                             leaves_per_island, ports, most),
                 "use switches with more ports");
  }
  clos.groups = islands * groups;
  clos.groups_per_island = groups;
  clos.spines_per_group = group_spines;
  clos.leaf_spine_cables = leaf.up / group_spines;
  clos.spine_up = spine.up;
  clos.cores_per_plane = cores;
  clos.spine_core_cables = spine.up / cores;
}

std::uint32_t nodes_per_block(int given, int nodes_per_island, std::uint32_t leaf_down) {
  const auto island = static_cast<std::uint32_t>(nodes_per_island);
  // The fewest blocks of equal size.
  std::uint32_t blocks = (island + leaf_down - 1) / leaf_down;
  while (island % blocks != 0) ++blocks;
  const std::uint32_t block = given > 0 ? static_cast<std::uint32_t>(given) : island / blocks;
  if (island % block != 0)
    throw UserError::at("fabric.nodes_per_island",
                        fmt::format("an island of {} nodes is not a whole number of units of {}", island, block),
                        "set nodes_per_su to a divisor");
  if (block > leaf_down)
    throw UserError::at("fabric.nodes_per_su",
                        fmt::format("{} nodes do not fit on a leaf, which has {} ports for nodes", block, leaf_down));
  return block;
}

void size_given_groups(Clos& clos, std::uint32_t leaves_per_group, std::uint32_t groups, std::uint32_t networks,
                       const TieredBasics& spec, int tiers) {
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  const PortSplit leaf = leaf_ports(spec), spine = spine_ports(spec);
  const bool joined = tiers != 2 && groups > 1;
  clos.leaf_up = leaf.up;
  clos.leaves_per_group = leaves_per_group;
  clos.groups = groups * networks;
  clos.leaves = clos.groups * leaves_per_group;
  const std::uint32_t spines = fewest_uppers(leaves_per_group, leaf.up, joined ? spine.down : ports);
  if (spines == 0)
    does_not_fit(fmt::format("{} leaves of an island do not fit under spines of {} ports", leaves_per_group,
                             joined ? spine.down : ports),
                 "use switches with more ports, or smaller islands");
  clos.spines_per_group = spines;
  clos.leaf_spine_cables = leaf.up / spines;
  clos.groups_per_island = joined ? groups : 1;
  if (!joined) return;
  const std::uint32_t cores = fewest_uppers(groups, spine.up, ports);
  if (cores == 0)
    does_not_fit(fmt::format("{} islands do not fit under cores of {} ports", groups, ports),
                 "use switches with more ports, or larger islands");
  clos.spine_up = spine.up;
  clos.cores_per_plane = cores;
  clos.spine_core_cables = spine.up / cores;
}

BytesPerSecond offered_rate(const TieredBasics& spec) {
  return spec.switch_box.rate * (static_cast<double>(spec.planes) / spec.breakout);
}

Fabric build_tiered_fabric(Clos clos, const TieredBasics& spec, const FabricDemand& demand) {
  clos.planes = static_cast<std::uint32_t>(spec.planes);
  clos.breakout = static_cast<std::uint32_t>(spec.breakout);
  return build_clos_fabric(clos, spec, demand, offered_rate(spec));
}

Fabric build_clos_fabric(const Clos& clos, const FabricBasics& basics, const FabricDemand& demand,
                         BytesPerSecond offered) {
  const Seconds hop = propagation(basics.cable) + basics.switch_box.latency;
  // Planes are one network whose links carry the traffic of all planes, so rates add up
  // (docs/models/fabrics-and-links.md).
  const LinkClass between{demand.kind, basics.switch_box.rate * (clos.planes * demand.header_efficiency), hop};
  const std::array tiers = {
      nic_classes(basics, demand, demand.port_rate * demand.nic_efficiency, offered),
      FabricBuilder::TierClasses{between, between},
      FabricBuilder::TierClasses{between, between},
  };
  return FabricBuilder::build_clos(clos, demand.nodes, tiers);
}

}  // namespace fabricast
