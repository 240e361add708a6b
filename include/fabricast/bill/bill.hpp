// The bill of materials of a scenario: hosts, NICs, switches, cables, transceivers and racks, and their power.
//
//   Bill bill = bill_of(world);              // counts and power; milliseconds, a million GPUs too
//   Cost cost = cost_of(bill, prices);       // bill/cost.hpp
//
// Counts follow from the arithmetic of the fabric (fabric/clos.hpp), times its planes, and cables from the floor plan of
// the site (scenario/site.hpp); a fabric read from a file is walked. What each rule is and where it is from:
// docs/models/bill.md. Not counted: storage, front-end and management networks, power distribution, cooling, patch panels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/hardware/equipment.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

struct Prices;  // bill/prices.hpp

enum class Item { node, nic, switch_box, cable, transceiver, rack };
template <>
struct EnumNames<Item> {
  static constexpr std::array<std::string_view, 6> names{"node", "nic", "switch", "cable", "transceiver", "rack"};
};

/// Whether it is part of the network: NICs too.
constexpr bool is_network(Item item) { return item != Item::node && item != Item::rack; }

/// So many of one thing. What does not apply to the item is 0 or empty.
struct BillLine {
  Item item = Item::node;
  std::optional<Tier> tier;  ///< of a switch; of cables and transceivers, the tier that they go up to
  /// Of a host its profile, or its GPU; of a transceiver nic or switch; of racks nodes, leaves or upper.
  std::string name;
  std::int64_t count = 0;
  int ports = 0;  ///< of a switch, a NIC or a transceiver
  BytesPerSecond rate{0};
  LinkKind link = LinkKind::infiniband;
  Medium medium = Medium::dac;
  Metres up_to{0};   ///< cables and transceivers: the length class
  Metres metres{0};  ///< of all cables together
  RatedPower each;   ///< of a host: without its NICs, which are lines of their own
  double watts() const { return static_cast<double>(count) * each.power.value; }
  /// `leaf switch 64 x 400Gbps`
  std::string what() const;
};

/// Ports of a tier's switches, in ports of the switch.
struct PortUse {
  Tier tier = Tier::leaf;
  std::int64_t switches = 0, ports = 0, down = 0, up = 0;
  std::int64_t free() const { return ports - down - up; }
};

struct Bill {
  std::vector<BillLine> lines;
  std::vector<PortUse> tiers;
  std::int64_t nodes = 0, spare_nodes = 0, gpus = 0;  ///< hosts on the fabric; GPUs without those of spares
  double job_share = 1;                                ///< hosts of the job over `nodes`
  int planes = 1;
  double pue = 1, load = 1;
  std::vector<std::string> notes;  ///< what a buyer should know

  std::int64_t switches(Tier tier) const;
  std::int64_t switches() const;
  /// Cables between a tier and what is below it.
  std::int64_t cables(Tier tier) const;
  std::int64_t cables() const;
  std::int64_t count(Item item) const;
  /// W at full load; `network`: switches, cables, transceivers and NICs.
  double equipment_watts() const;
  double network_watts() const;
  /// Of the building, in the mean.
  double mean_watts() const { return equipment_watts() * load * pue; }
};

/// \param prices  whose figures of power win; may be null
/// \throws UserError if a cable is longer than any class, or spares and management ports do not fit
Bill bill_of(const World& world, const Prices* prices = nullptr);

}  // namespace fabricast
