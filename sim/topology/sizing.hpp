// How many switches a folded Clos network takes; shared by the topologies.
#pragma once

#include <cstdint>

#include "fabricast/topology/topology.hpp"

namespace fabricast {

/// Keys of the topologies that size their tiers by oversubscription.
struct TieredBasics : FabricBasics {
  double oversubscription = 1;
  double spine_oversubscription = 1;
  int leaf_up = 0, spine_up = 0;  ///< 0: by oversubscription
  int breakout = 1;
  int planes = 1;
};
void visit_tiers(FieldVisitor& visit, TieredBasics& tiers);
/// A port of each plane, or what a split port leaves of it.
BytesPerSecond offered_rate(const TieredBasics& spec);

/// How a switch divides its ports between the tier below and the tier above.
struct PortSplit {
  std::uint32_t down, up;
};
/// down : up = oversubscription, as near as whole ports allow, never less up than asked. \pre ports >= 2.
PortSplit split_ports(std::uint32_t ports, double oversubscription);

/// The same of a leaf, whose ports down are split (`breakout`): NIC ports : switch ports.
/// \throws UserError if no port is left to go down
PortSplit leaf_ports(const TieredBasics& spec);
/// And of a spine that has cores above.
PortSplit spine_ports(const TieredBasics& spec);
/// NIC ports of a leaf that nothing joins to others.
std::uint32_t lone_leaf_ports(const TieredBasics& spec);

/// The fewest upper switches that `lowers` switches with `up` cables each can share evenly, when an upper switch
/// takes at most `ports` of them: the smallest divisor d of `up` with lowers * up / d <= ports. 0 if there is none.
std::uint32_t fewest_uppers(std::uint32_t lowers, std::uint32_t up, std::uint32_t ports);

/// Fills in the tiers above the leaves of a Clos whose leaves, leaves_per_group (before: of one island) are known.
/// `leaves_per_island` leaves are to be joined, by spines alone if they suffice, else by groups of leaves and cores.
/// \throws UserError if three tiers do not suffice, or fewer than asked (`tiers` 2 or 3; 0: as few as possible).
void size_upper_tiers(Clos& clos, std::uint32_t leaves_per_island, const TieredBasics& spec, int tiers);

/// Cable classes by tier: the way up is charged the propagation and the switch it enters; the way down the same,
/// but into a NIC, whose own latency belongs to the protocol's hop. A NIC's link runs at the slower of its ends.
Fabric build_clos_fabric(const Clos& clos, const FabricBasics& basics, const FabricDemand& demand,
                         BytesPerSecond offered);
inline Fabric build_clos_fabric(const Clos& clos, const FabricBasics& basics, const FabricDemand& demand) {
  return build_clos_fabric(clos, basics, demand, basics.switch_box.rate);
}
/// The same in planes, each NIC with a port in each of them.
Fabric build_tiered_fabric(Clos clos, const TieredBasics& spec, const FabricDemand& demand);

}  // namespace fabricast
