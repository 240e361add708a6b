// Turns a world into lines of a bill: hosts, NICs, switches, cables, transceivers and racks (docs/models/bill.md).
//
// room.cpp has the floor plan, wiring.cpp counts cables and ports by length, and models/hardware/equipment.cpp knows
// powers. Counts are arithmetic on the Clos, so they take the same time for a million GPUs as for a hundred.
#include "fabricast/bill/bill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/bill/prices.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "wiring.hpp"

namespace fabricast {

namespace {

/// Builds the lines of one bill.
class Billing {
 public:
  explicit Billing(const World& world)
      : s_(world.scenario()),
        comm_(world.planner().comm),
        demand_(demand_of_hosts(s_, comm_)),
        basics_(topologies()[s_.fabric.kind].basics(s_.fabric.spec)) {}

  Bill make(const World& world) {
    bill_.world = world;
    // All hosts on the fabric are billed, whether or not the job uses them; the job bears its share of the cost.
    bill_.nodes = s_.cluster.size;
    bill_.spare_nodes = s_.site.spare_nodes;
    bill_.gpus = bill_.nodes * s_.node.spec.gpus;
    bill_.job_share = static_cast<double>(s_.cluster.nodes) / static_cast<double>(bill_.nodes);
    bill_.pue = s_.site.pue;
    bill_.load = s_.site.load.value;
    hosts();
    // Also if the job stays within its first host: the cluster has its fabric.
    if (bill_.nodes > 1 && s_.node.spec.nics.count > 0) {
      add_fabric(world);
    } else {
      if (s_.site.management_ports > 0)
        bill_.notes.emplace_back("site.management_ports has no effect: there is no fabric");
      add_racks(Room(s_.site, bill_.nodes + bill_.spare_nodes, nodes_per_rack_, 0), {});
    }
    return std::move(bill_);
  }

 private:
  BillLine& line(Item item, std::int64_t count) {
    BillLine& made = bill_.lines.emplace_back();
    made.item = item;
    made.count = count;
    made.link = s_.node.spec.nics.link;
    return made;
  }

  void hosts() {
    const NodeSpec& node = s_.node.spec;
    const std::int64_t all = bill_.nodes + bill_.spare_nodes;
    const bool has_nics = node.nics.count > 0;
    // NICs as NCCL sees them: a card with two ports is one NIC with the rate of both.
    const std::int64_t nics = has_nics ? demand_.ports_per_node : 0;
    RatedPower whole = power_of_host(node.gpu, node.gpus, comm_.node.gpu.sheet, node.power);
    const int ports = has_nics ? std::max(1, node.nics.count / static_cast<int>(nics)) : 1;
    const RatedPower nic = power_of_nic(node.nics.rate * ports);
    // Published powers of hosts include NICs. They are lines of their own here, because they belong to the network, and
    // are deducted from the host.
    const double share = static_cast<double>(nics) * nic.power.value;
    nodes_per_rack_ = racked(whole.power);
    BillLine& host = line(Item::node, all);
    host.name = node.profile.empty() || node.profile.ends_with(".json") ? node.gpu : node.profile;
    host.each = {{std::max(0.0, whole.power.value - share)}, whole.source};
    if (!has_nics) return;
    host.each.source += ", without NICs";
    BillLine& cards = line(Item::nic, all * nics);
    cards.ports = ports;
    cards.rate = node.nics.rate;
    cards.each = nic;
  }

  /// Number of hosts per rack: as given, an NVLink domain, or as many as the power of a rack allows.
  int racked(Watts host) const {
    if (s_.site.nodes_per_rack > 0) return s_.site.nodes_per_rack;
    if (s_.nvlink_domain.nodes > 1) return s_.nvlink_domain.nodes;
    return std::max(1, static_cast<int>(s_.site.rack_power.value / std::max(1.0, host.value)));
  }

  void add_fabric(const World& world) {
    std::unique_ptr<Fabric> made;
    // A job on one host has no fabric in its world, so it is built from the scenario.
    if (!world.fabric()) made = std::make_unique<Fabric>(fabric_of_hosts(s_, comm_));
    const Fabric& fabric = world.fabric() ? *world.fabric() : *made;
    const Clos* clos = fabric.clos();
    const std::int64_t planes = clos ? clos->planes : 1;
    bill_.planes = static_cast<int>(planes);
    const auto ports = static_cast<std::int64_t>(s_.node.spec.nics.count) / demand_.ports_per_node;
    // Each endpoint has at least one cable per plane. Ports beyond a multiple of the planes are not wired.
    breakout_ = clos ? clos->breakout : breakout_of_fabric();
    const WiringInput in{s_.site, basics_, demand_, static_cast<int>(std::max(planes, ports / planes * planes)),
                         static_cast<int>(breakout_)};
    const std::int64_t upper = clos ? (wide(clos->spines()) + clos->cores()) * planes : upper_of(fabric);
    const Room room(s_.site, bill_.nodes + bill_.spare_nodes, nodes_per_rack_, upper);
    Wiring wiring = clos ? wire_clos(in, room, *clos) : wire_graph(in, room, fabric);
    for (PortUse& use : wiring.tiers) add_switches(use);
    for (const CableGroup& group : wiring.groups) add_cables(group);
    bill_.tiers = std::move(wiring.tiers);
    add_racks(room, wiring);
  }

  static std::int64_t wide(std::uint32_t n) { return n; }

  /// NIC cables per port of a switch: what a port has over what it offers to each cable. Files state cables instead.
  std::int64_t breakout_of_fabric() const {
    const double offered = topologies()[s_.fabric.kind].offered(s_.fabric.spec).value;
    return std::isfinite(offered) ? std::max<std::int64_t>(1, std::llround(basics_.switch_box.rate.value / offered))
                                  : 1;
  }

  /// Number of switches without hosts in a fabric that is not a Clos network.
  /// A file does not say which switches are leaves, so those with hosts stand near them and the others in the middle.
  static std::int64_t upper_of(const Fabric& fabric) {
    std::vector<bool> has_hosts(fabric.vertices(), false);
    for (std::uint32_t l = 0; l < fabric.links(); l += 2)
      if (const auto [from, to] = fabric.link(LinkId(l)); fabric.is_endpoint(from)) has_hosts[to.value] = true;
    return std::count(has_hosts.begin() + fabric.endpoints(), has_hosts.end(), false);
  }

  void add_switches(PortUse& use) {
    BillLine& box = line(Item::switch_box, use.switches);
    box.tier = use.tier;
    box.ports = basics_.switch_box.ports;
    box.rate = basics_.switch_box.rate;
    // The fabric of the forecast is ideal here: it is wired with more ports than its switches have. The bill takes a
    // switch that would be large enough, and says so.
    if (use.free() < 0) {
      const std::int64_t needed = ceil_div(use.down + use.up, use.switches);
      bill_.notes.push_back(fmt::format(
          "{} switches of {} ports would need {} ports: {}", name_of(use.tier), box.ports, needed,
          topologies()[s_.fabric.kind].name == "single_switch" ? "the switch is ideal and cannot be bought"
                                                               : "the forecast counts ports of one card as one NIC"));
      box.ports = static_cast<int>(needed);
      use.ports = needed * use.switches;
    }
    box.each = power_of_switch(box.ports, box.rate);
  }

  void add_cables(const CableGroup& group) {
    if (group.tally.unreached() > 0)
      throw UserError::at("site.cables",
                          fmt::format("{} cables to the {} tier, of up to {:.0f} m, are longer than any class",
                                      group.tally.unreached(), name_of(group.tier), group.tally.longest.value),
                          "add a class for this length, or place the racks closer");
    // The last class counts cables that are too long, which were refused above.
    for (std::size_t c = 0; c + 1 < group.tally.classes.size(); ++c) {
      const auto& [count, metres] = group.tally.classes[c];
      if (count == 0) continue;
      const CableClass& made_of = s_.site.cables[c];
      const auto fill = [&](BillLine& l, BytesPerSecond rate) {
        l.tier = group.tier;
        l.rate = rate;
        l.medium = made_of.medium;
        l.up_to = made_of.up_to;
      };
      BillLine& cable = line(Item::cable, count);
      fill(cable, group.rate);
      cable.metres = {metres};
      cable.each = power_of_cable(made_of.medium, group.rate);
      if (!has_transceivers(made_of.medium)) continue;
      const SwitchSpec& box = basics_.switch_box;
      const std::int64_t cage = s_.site.switch_cage > 0
                                    ? s_.site.switch_cage
                                    : ports_per_cage(s_.node.spec.nics.link, basics_.switch_box.ports, box.rate);
      const bool nic = group.nics;
      const auto transceivers = [&](std::string_view end, std::int64_t number, BytesPerSecond rate,
                                    std::int64_t ports) {
        BillLine& plug = line(Item::transceiver, number);
        fill(plug, rate);
        plug.name = end;
        plug.ports = static_cast<int>(ports);
        plug.each = power_of_transceiver(made_of.medium, rate, plug.ports);
      };
      if (nic) transceivers("nic", ceil_div(count, s_.site.nic_cage), group.rate, s_.site.nic_cage);
      // A split cable plugs into one port of the switch at the full rate, and into several NICs at a part of it.
      const BytesPerSecond port = nic && breakout_ > 1 ? box.rate : group.rate;
      transceivers("switch", (nic ? 1 : 2) * ceil_div(count, cage * (nic ? breakout_ : 1)), port, cage);
    }
  }

  void add_racks(const Room& room, const Wiring& wiring) {
    const auto racks = [&](std::string_view name, std::int64_t count) {
      if (count > 0) line(Item::rack, count).name = name;
    };
    racks("nodes", room.node_racks());
    racks("leaves", wiring.leaf_racks);
    racks("upper", room.upper_racks());
    for (const std::string& note : wiring.notes) bill_.notes.push_back(note);
  }

  const Scenario& s_;
  const Communicator& comm_;
  FabricDemand demand_;
  const FabricBasics& basics_;
  int nodes_per_rack_ = 1;
  std::int64_t breakout_ = 1;
  Bill bill_;
};

}  // namespace

std::string BillLine::what() const {
  const std::string at = tier ? fmt::format("{} ", name_of(*tier)) : std::string();
  switch (item) {
    case Item::node: return fmt::format("node {}", name);
    case Item::nic: return fmt::format("nic {}{}", ports > 1 ? fmt::format("{} x ", ports) : "", to_text(rate));
    case Item::switch_box: return fmt::format("{}switch {} x {}", at, ports, to_text(rate));
    case Item::cable: return fmt::format("{}cable {} {}, up to {}", at, to_text(rate), name_of(medium), to_text(up_to));
    case Item::transceiver:
      return fmt::format("{}transceiver at {} {} x {} {}, up to {}", at, name, ports, to_text(rate), name_of(medium),
                         to_text(up_to));
    case Item::rack: return fmt::format("rack of {}", name == "upper" ? "spines and cores" : name);
  }
  return {};
}

std::int64_t Bill::switches(Tier tier) const {
  std::int64_t sum = 0;
  for (const PortUse& use : tiers)
    if (use.tier == tier) sum += use.switches;
  return sum;
}

std::int64_t Bill::switches() const { return switches(Tier::leaf) + switches(Tier::spine) + switches(Tier::core); }

std::int64_t Bill::cables(Tier tier) const {
  std::int64_t sum = 0;
  for (const BillLine& l : lines)
    if (l.item == Item::cable && l.tier == tier) sum += l.count;
  return sum;
}

std::int64_t Bill::cables() const { return cables(Tier::leaf) + cables(Tier::spine) + cables(Tier::core); }

std::int64_t Bill::count(Item item) const {
  std::int64_t sum = 0;
  for (const BillLine& l : lines)
    if (l.item == item) sum += l.count;
  return sum;
}

double Bill::equipment_watts() const {
  double sum = 0;
  for (const BillLine& l : lines) sum += l.watts();
  return sum;
}

double Bill::network_watts() const {
  double sum = 0;
  for (const BillLine& l : lines)
    if (is_network(l.item)) sum += l.watts();
  return sum;
}

// Prices override powers line by line: a user who has a data sheet need not accept the built-in guess.
Bill bill_of(const World& world, const Prices* prices) {
  Bill bill = Billing(world).make(world);
  if (prices)
    for (BillLine& line : bill.lines)
      if (const PriceItem* item = prices->power_of(line))
        line.each = {item->power, fmt::format("prices{}", item->source.empty() ? "" : ": " + item->source)};
  return bill;
}

}  // namespace fabricast
