// Rate and latency of the cables of a topology. The latency of a link is propagation plus the switch that it enters. A
// link into a NIC has propagation only, because the NIC's latency belongs to the protocol's hop.
#pragma once

#include "fabricast/topology/topology.hpp"

namespace fabricast {

/// Both directions of a NIC's cable, at the rate of its slower end.
/// \param reached  what the NIC's port reaches
/// \param offered  line rate that the switches offer to a cable of a NIC
FabricBuilder::TierClasses nic_classes(const FabricBasics& basics, const FabricDemand& demand, BytesPerSecond reached,
                                       BytesPerSecond offered);

/// A cable between two switches, each direction. \param cable  its length
LinkClass between_switches(const FabricBasics& basics, const FabricDemand& demand, Metres cable);

}  // namespace fabricast
