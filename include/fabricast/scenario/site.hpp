// The section `site` of a scenario: the layout of racks and the reach of cables, for the bill of materials. It does not
// affect forecasts of time.
//
// Racks of nodes are arranged in rows, in the order of the nodes. Leaves are in the row of their nodes; spines and
// cores are in rows of their own in the middle of the room. A cable runs up into a tray, along rows and across them at
// right angles, and down again (docs/models/bill.md). Not modelled: doors, columns, several rooms, slack beyond
// `slack`.
//
// `guess` marks defaults without a source. Plain values; safe to use concurrently.
#pragma once

#include <vector>

#include "fabricast/core/fields.hpp"
#include "fabricast/hardware/equipment.hpp"

namespace fabricast {

/// The kind of cable for lengths up to `up_to` that the previous class does not cover.
struct CableClass {
  Medium medium = Medium::dac;  ///< decides power, and whether there are transceivers at the ends
  Metres up_to{3};              ///< longest cable of the class
};

/// Where leaf switches are: in the middle or at the end of the row of their nodes, or in the racks of their nodes.
enum class LeafPlace { row_middle, row_end, node_rack };
template <>
struct EnumNames<LeafPlace> {
  static constexpr std::array<std::string_view, 3> names{"row_middle", "row_end", "node_rack"};
};

/// The section `site`.
struct SiteSpec {
  int nodes_per_rack = 0;    ///< 0: an NVLink domain of several hosts, or else as many as rack_power feeds
  Watts rack_power{45'000};  ///< guess; four DGX H100 are 40.8 kW [SuperPOD-H100]
  int racks_per_row = 0;     ///< 0: chosen so that the room is about square
  Metres rack_pitch{0.6};    ///< guess: a rack's width
  Metres row_pitch{2.4};     ///< guess: a rack's depth plus an aisle
  Metres riser{2};           ///< guess: from a device up to the tray
  Metres in_rack{1.5};       ///< guess: between two devices in one rack
  Ratio slack{0.1};          ///< guess: added to each length, as a fraction
  LeafPlace leaves = LeafPlace::row_middle;
  int switches_per_rack = 16;  ///< guess
  /// Shortest first; a cable is of the first class that reaches. docs/models/bill.md says what the defaults rest on.
  std::vector<CableClass> cables{
      {Medium::dac, {3}}, {Medium::multimode, {50}}, {Medium::single_mode, {500}}, {Medium::single_mode, {2000}}};
  int switch_cage = 0;       ///< switch ports that share a cage and its transceiver; 0: by kind of switch
  int nic_cage = 1;          ///< the same for NIC ports of a host
  int spare_nodes = 0;       ///< spare hosts, which are cabled
  int management_ports = 0;  ///< leaf ports for other hosts, such as UFM
  double pue = 1.3;          ///< power usage effectiveness: power of the building over power of the equipment; guess
  Ratio load{1};             ///< average power as a fraction of the maximum power
};
/// The keys of the section with their limits (core/fields.hpp).
void visit_fields(FieldVisitor& visit, CableClass& c);
void visit_fields(FieldVisitor& visit, SiteSpec& spec);

}  // namespace fabricast
