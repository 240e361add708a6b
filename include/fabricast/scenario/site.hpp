// The site: how racks stand and what reaches how far, for the bill of materials. Nothing of it moves a forecast.
//
// Racks of nodes stand in rows, in order of the nodes. Leaves stand in the row of their nodes, spines and cores in rows
// of their own in the middle of the room. A cable runs up into a tray, along rows and across them at right angles, and
// down again (docs/models/bill.md). Not modelled: doors, columns, several rooms, slack beyond `slack`.
#pragma once

#include <vector>

#include "fabricast/core/fields.hpp"
#include "fabricast/hardware/equipment.hpp"

namespace fabricast {

/// Cables up to a length, and longer than those of the class before.
struct CableClass {
  Medium medium = Medium::dac;
  Metres up_to{3};
};

/// Where leaves stand.
enum class LeafPlace { row_middle, row_end, node_rack };
template <>
struct EnumNames<LeafPlace> {
  static constexpr std::array<std::string_view, 3> names{"row_middle", "row_end", "node_rack"};
};

struct SiteSpec {
  int nodes_per_rack = 0;     ///< 0: as many as rack_power feeds; of an NVLink domain of several hosts: the domain
  Watts rack_power{45'000};   ///< guess; four DGX H100 are 40.8 kW [SuperPOD-H100]
  int racks_per_row = 0;      ///< 0: the room is about square
  Metres rack_pitch{0.6};     ///< guess: a rack's width
  Metres row_pitch{2.4};      ///< guess: a rack's depth and an aisle
  Metres riser{2};            ///< guess: from a device up to the tray
  Metres in_rack{1.5};        ///< guess: between two devices of one rack
  Ratio slack{0.1};           ///< guess: added to each length
  LeafPlace leaves = LeafPlace::row_middle;
  int switches_per_rack = 16;  ///< guess
  std::vector<CableClass> cables{
      {Medium::dac, {3}}, {Medium::multimode, {50}}, {Medium::single_mode, {500}}, {Medium::single_mode, {2000}}};
  int switch_cage = 0;         ///< ports of a switch to a transceiver; 0: by kind of switch
  int nic_cage = 1;            ///< the same of a host's NICs
  int spare_nodes = 0;       ///< that stand by, cabled
  int management_ports = 0;  ///< of leaves, for hosts such as UFM
  double pue = 1.3;          ///< guess
  Ratio load{1};             ///< of the greatest power that is drawn in the mean
};
void visit_fields(FieldVisitor& visit, CableClass& c);
void visit_fields(FieldVisitor& visit, SiteSpec& spec);

}  // namespace fabricast
