// Fabrics whose switches connect to each other without a tier above: what dragonflies, tori and HyperX networks share.
//
// NIC ports connect to switches in the order of hosts. Hosts fill a *block* of `node_switches` switches, which their
// ports take in turn; blocks are filled one after the other. Cables of NIC ports are numbered first, so port e has the
// links 2e and 2e + 1, as in a Clos network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cables.hpp"

namespace fabricast {

/// Keys of these topologies.
struct DirectBasics : FabricBasics {
  int nodes_per_switch = 0;  ///< 0: distributed evenly
  int node_switches = 1;     ///< switches to which the ports of a node connect
  int breakout = 1;          ///< NIC ports per port of a switch
};
void visit_direct(FieldVisitor& visit, DirectBasics& basics);
BytesPerSecond offered_rate(const DirectBasics& spec);

/// Which switch the NIC ports connect to.
struct Attachment {
  std::uint32_t ports_per_node = 1;
  std::uint32_t nodes_per_block = 1;
  std::uint32_t node_switches = 1;

  std::uint32_t switch_of(std::uint32_t endpoint) const {
    const std::uint32_t node = endpoint / ports_per_node, port = endpoint % ports_per_node;
    return node / nodes_per_block * node_switches + port % node_switches;
  }
  /// NIC ports of a full switch.
  std::uint32_t ports_per_switch() const {
    return nodes_per_block * ((ports_per_node + node_switches - 1) / node_switches);
  }
};

/// Distributes the nodes over switches. \param switches  those to which NICs may connect
/// \throws UserError if they do not fit
Attachment attach(const DirectBasics& spec, const FabricDemand& demand, std::uint32_t switches);

/// The ports of a switch that its NICs take, whole ports of the switch.
std::uint32_t nic_ports(const DirectBasics& spec, const Attachment& at);

/// \throws UserError if a switch needs more ports than it has
void require_ports(const FabricBasics& basics, std::string_view what, std::uint64_t needed);

/// A fabric with its NIC cables.
/// \param leaves, spines  switches of the two tiers; only leaves have NICs
FabricBuilder begin_direct(const DirectBasics& spec, const FabricDemand& demand, const Attachment& at,
                           std::uint32_t leaves, std::uint32_t spines);

}  // namespace fabricast
