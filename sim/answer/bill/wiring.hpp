// The cables and ports of a fabric, with lengths by the floor plan of its site.
#pragma once

#include <vector>

#include "fabricast/bill/bill.hpp"
#include "room.hpp"

namespace fabricast {

/// Cables that go up to one tier and have one line rate.
struct CableGroup {
  Tier tier;
  bool nics;            ///< whether they begin at NICs, and not at switches
  BytesPerSecond rate;  ///< of one cable
  CableTally tally;
};

/// All cables and ports of a fabric.
struct Wiring {
  std::vector<CableGroup> groups;
  std::vector<PortUse> tiers;
  std::int64_t leaf_racks = 0;  ///< racks for leaves only; 0 if leaves stand in the racks of nodes
  std::vector<std::string> notes;
};

/// What the wiring depends on in addition to the fabric.
struct WiringInput {
  const SiteSpec& site;
  const FabricBasics& basics;
  const FabricDemand& demand;
  int cables_per_port = 1;  ///< cables of one endpoint: one for each port of the NIC, over all planes
  int breakout = 1;         ///< NIC cables per port of a switch, in fabrics that are not Clos networks
};

/// Wires a Clos fabric by arithmetic, with all its planes.
/// \throws UserError if spare hosts or management ports do not fit
Wiring wire_clos(const WiringInput& in, const Room& room, const Clos& clos);
/// Wires any other fabric cable by cable.
/// \throws UserError if the site has spare hosts or management ports
Wiring wire_graph(const WiringInput& in, const Room& room, const Fabric& fabric);

}  // namespace fabricast
