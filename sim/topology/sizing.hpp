// How many switches a folded Clos network needs. The topologies share these functions, which are pure.
#pragma once

#include <cstdint>

#include "fabricast/topology/topology.hpp"

namespace fabricast {

/// Keys of the topologies that size their tiers by oversubscription.
struct TieredBasics : FabricBasics {
  double oversubscription = 1;
  double spine_oversubscription = 1;
  int leaf_up = 0, spine_up = 0;  ///< uplink ports; 0: by oversubscription
  int breakout = 1;               ///< NIC ports per port of a leaf
  int planes = 1;                 ///< identical parallel networks
};
void visit_tiers(FieldVisitor& visit, TieredBasics& tiers);
/// The rate of a port, divided by the breakout, in all planes together.
BytesPerSecond offered_rate(const TieredBasics& spec);

/// Ports of a switch to the tier below and to the tier above.
struct PortSplit {
  std::uint32_t down, up;
};
/// Splits ports so that down : up is the oversubscription, as closely as whole ports allow and never above it, except
/// that at least one port goes down. \pre ports >= 2
PortSplit split_ports(std::uint32_t ports, double oversubscription);

/// The split of a leaf; `down` counts NIC ports, which are `breakout` per port of the switch.
/// \throws UserError if no port is left to go down
PortSplit leaf_ports(const TieredBasics& spec);
/// The split of a spine below cores.
/// \throws UserError if no port is left to go down
PortSplit spine_ports(const TieredBasics& spec);
/// The NIC ports of a leaf without uplinks.
std::uint32_t lone_leaf_ports(const TieredBasics& spec);

/// The smallest number of upper switches over which `lowers` switches with `up` cables each can distribute them evenly,
/// if an upper switch takes at most `ports` cables: the smallest divisor d of `up` with lowers * up / d <= ports. 0 if
/// there is none.
std::uint32_t fewest_uppers(std::uint32_t lowers, std::uint32_t up, std::uint32_t ports);

/// Fills in the tiers above the leaves of a Clos whose `leaves` are known. The leaves of an island are connected by
/// spines alone if possible, and otherwise by groups of leaves and by cores.
/// \param tiers  1, 2 or 3; 0: as few as possible
/// \throws UserError if the leaves do not fit in these tiers
void size_upper_tiers(Clos& clos, std::uint32_t leaves_per_island, const TieredBasics& spec, int tiers);

/// Nodes of a block of a fabric with islands of nodes: the given number, or as many as a leaf takes of those of an island.
/// \param given  0: not given. \throws UserError if an island is no whole number of blocks
std::uint32_t nodes_per_block(int given, int nodes_per_island, std::uint32_t leaf_down);

/// Fills in the tiers above the leaves of a Clos whose groups are given, and its leaves. Every group has spines of its own;
/// cores join them, unless `tiers` is 2.
/// \param groups    of a network
/// \param networks  that nothing joins, as the rails of a rail-only fabric
/// \throws UserError if they do not fit
void size_given_groups(Clos& clos, std::uint32_t leaves_per_group, std::uint32_t groups, std::uint32_t networks,
                       const TieredBasics& spec, int tiers);

/// Builds the fabric with its cable classes by tier (cables.hpp).
/// \param offered  line rate that the switches offer to a cable of a NIC
Fabric build_clos_fabric(const Clos& clos, const FabricBasics& basics, const FabricDemand& demand,
                         BytesPerSecond offered);
inline Fabric build_clos_fabric(const Clos& clos, const FabricBasics& basics, const FabricDemand& demand) {
  return build_clos_fabric(clos, basics, demand, basics.switch_box.rate);
}
/// The same with planes and breakout.
Fabric build_tiered_fabric(Clos clos, const TieredBasics& spec, const FabricDemand& demand);

}  // namespace fabricast
