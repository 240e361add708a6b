// The bill of materials of a scenario: hosts, NICs, switches, cables, transceivers and racks, with their power.
//
//   Bill bill = bill_of(world);              // counts and power; takes milliseconds even for a million GPUs
//   Cost cost = cost_of(bill, prices);       // bill/cost.hpp
//
// Counts follow from the arithmetic of the fabric (fabric/clos.hpp), times its planes. Lengths of cables follow from
// the floor plan of the site (scenario/site.hpp). A fabric that is read from a file is counted cable by cable. Rules
// and sources: docs/models/bill.md.
//
// Powers are maximum power in W, lengths are in m, rates are line rates in bytes per second.
// Functions read the world and do not change it; safe to call concurrently.
//
// Not counted: storage, front-end and management networks, power distribution, cooling, patch panels, spare parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/hardware/equipment.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

struct Prices;  // bill/prices.hpp

/// What is counted. Racks have no power of their own; hosts are listed without their NICs.
enum class Item { node, nic, switch_box, cable, transceiver, rack };
template <>
struct EnumNames<Item> {
  static constexpr std::array<std::string_view, 6> names{"node", "nic", "switch", "cable", "transceiver", "rack"};
};

/// Whether an item is part of the network, which includes NICs.
constexpr bool is_network(Item item) { return item != Item::node && item != Item::rack; }

/// A number of identical things. Fields that do not apply to the item are 0 or empty.
struct BillLine {
  Item item = Item::node;
  std::optional<Tier> tier;  ///< of a switch; for cables and transceivers, the tier that they go up to
  /// For a node its profile, or its GPU; for a transceiver `nic` or `switch`; for racks `nodes`, `leaves` or `upper`.
  std::string name;
  std::int64_t count = 0;
  int ports = 0;                         ///< of a switch, a NIC or a transceiver
  BytesPerSecond rate{0};                ///< of one port or cable
  LinkKind link = LinkKind::infiniband;  ///< of the fabric, whatever the item
  Medium medium = Medium::dac;           ///< of cables and transceivers
  Metres up_to{0};                       ///< of cables and transceivers: the length class
  Metres metres{0};                      ///< total length of all cables
  RatedPower each;  ///< of one, with its source. Hosts without their NICs, which are separate lines
  /// Maximum power of all of them.
  double watts() const { return static_cast<double>(count) * each.power.value; }
  /// A description without the count: `leaf switch 64 x 400Gbps`.
  std::string what() const;
};

/// Use of the ports of a tier's switches, in ports of the switch: NIC ports that share one by breakout count as one.
struct PortUse {
  Tier tier = Tier::leaf;
  std::int64_t switches = 0, ports = 0, down = 0, up = 0;
  /// Ports without a cable. Not negative: a switch with too few ports is billed as a larger one, with a note.
  std::int64_t free() const { return ports - down - up; }
};

/// The bill of one scenario.
struct Bill {
  World world;                              ///< what is billed
  std::vector<BillLine> lines;              ///< hosts, NICs, switches, cables with their transceivers, racks
  std::vector<PortUse> tiers;               ///< those that the fabric has
  std::int64_t nodes = 0, spare_nodes = 0;  ///< hosts on the fabric; standby hosts
  std::int64_t gpus = 0;                    ///< without those of standby hosts
  double job_share = 1;                     ///< hosts of the job divided by `nodes`
  int planes = 1;                           ///< networks side by side, all of them counted
  double pue = 1, load = 1;                 ///< of the site: power usage effectiveness, and mean power over full load
  std::vector<std::string> notes;           ///< remarks for the buyer, e.g. ports that a switch would lack

  /// Number of switches of a tier, and of all tiers.
  std::int64_t switches(Tier tier) const;
  std::int64_t switches() const;
  /// Number of cables between a tier and the tier below it, and of all cables.
  std::int64_t cables(Tier tier) const;
  std::int64_t cables() const;
  /// Number of all things of a kind.
  std::int64_t count(Item item) const;
  /// W at full load of all equipment, and of the network: switches, cables, transceivers and NICs.
  double equipment_watts() const;
  double network_watts() const;
  /// W of the building, averaged over time.
  double mean_watts() const { return equipment_watts() * load * pue; }
};

/// Computes the bill of a scenario: of all hosts on the fabric (`cluster.size`) and the standby hosts, not only of
/// those that the job uses. A job on one host has no fabric in its world; the bill has it all the same if the cluster
/// has several hosts.
/// \param prices  its powers override the built-in ones; may be null
/// \throws UserError if a cable is longer than any class, spare hosts or management ports do not fit at the leaves, or
///         a fabric from a file has spare hosts or management ports
Bill bill_of(const World& world, const Prices* prices = nullptr);

}  // namespace fabricast
