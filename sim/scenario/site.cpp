// The fields of section `site`: the floor plan of the bill of materials (docs/models/bill.md). All defaults are stated
// guesses or reference designs.
#include "fabricast/scenario/site.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, CableClass& c) {
  visit("medium", c.medium,
        "dac, acc: copper; aoc: optical with attached ends; multimode, single_mode: fibre with transceivers");
  visit("up_to", c.up_to, "maximum length of such a cable", between(0.1, 1e5));
}

void visit_fields(FieldVisitor& visit, SiteSpec& spec) {
  visit("nodes_per_rack", spec.nodes_per_rack,
        "hosts in a rack; 0: an NVLink domain of several hosts, or else as many as `rack_power` feeds",
        between(0, 1000));
  visit("rack_power", spec.rack_power, "power that a rack can supply", between(1000, 1e7));
  visit("racks_per_row", spec.racks_per_row, "racks of nodes in a row; 0: chosen so that the room is about square",
        between(0, 1e5));
  visit("rack_pitch", spec.rack_pitch, "distance from a rack to the next in its row", between(0.1, 10));
  visit("row_pitch", spec.row_pitch, "distance from a row to the next", between(0.1, 100));
  visit("riser", spec.riser, "length from a device up to the cable tray, at each end", between(0, 100));
  visit("in_rack", spec.in_rack, "length of a cable between two devices in one rack", between(0, 100));
  visit("slack", spec.slack, "fraction added to the length of each cable", between(0, 10));
  visit("leaves", spec.leaves,
        "place of leaves: in the middle or at the end of the row of their nodes, or in their racks");
  visit("switches_per_rack", spec.switches_per_rack, "switches in a rack of switches", between(1, 100));
  visit("cables", spec.cables, "kinds of cables by length, shortest first");
  visit("switch_cage", spec.switch_cage, "switch ports that share a cage and its transceiver; 0: by kind of switch",
        between(0, 16));
  visit("nic_cage", spec.nic_cage, "NIC ports of a host that share a cage and its transceiver: 2 in a DGX H100",
        between(1, 16));
  visit("spare_nodes", spec.spare_nodes, "spare hosts, cabled like the others and spread over their units",
        between(0, 4e6));
  visit("management_ports", spec.management_ports, "leaf ports for other hosts, e.g. UFM", between(0, 1e6));
  visit("pue", spec.pue, "power usage effectiveness: power of the building over power of the equipment",
        between(1, 10));
  visit("load", spec.load, "average power as a fraction of the maximum power", between(0, 1));
}

}  // namespace fabricast
