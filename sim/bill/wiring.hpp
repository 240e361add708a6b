// The cables and ports of a fabric on the floor of its site.
#pragma once

#include <vector>

#include "fabricast/bill/bill.hpp"
#include "room.hpp"

namespace fabricast {

/// Cables that go up to one tier at one line rate.
struct CableGroup {
  Tier tier;
  BytesPerSecond rate;  ///< of one cable
  CableTally tally;
};

struct Wiring {
  std::vector<CableGroup> groups;
  std::vector<PortUse> tiers;
  std::int64_t leaf_racks = 0;
  std::vector<std::string> notes;
};

/// What the wiring of a fabric depends on beside it.
struct WiringInput {
  const SiteSpec& site;
  const FabricBasics& basics;
  const FabricDemand& demand;
  int cables_per_port = 1;  ///< ports of a NIC, each with its cable, in all planes
};

/// A network of switches and cables by arithmetic, planes and all.
/// \throws UserError if spares or management ports do not fit
Wiring wire_clos(const WiringInput& in, const Room& room, const Clos& clos);
/// Any other, cable by cable.
Wiring wire_graph(const WiringInput& in, const Room& room, const Fabric& fabric);

}  // namespace fabricast
