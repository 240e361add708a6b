// Forwarding tables of InfiniBand switches, as the subnet manager filled them [IBTA-spec].
//
// A switch sends a packet out of the port that its table lists for the destination LID of the packet. A table is an
// array by LID, as in the switch; the tables of a thousand switches and twenty thousand LIDs take 20 MB. Tables are
// read by discover/forwarding.hpp and used by `routing: {kind: lft}`. Multicast tables are not kept.
//
// Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// Entry of a LID that a switch does not forward [IBTA-spec].
constexpr std::uint8_t no_port = 255;

/// The table of one switch.
struct ForwardingTable {
  std::string guid;                       ///< of the switch, 16 hexadecimal digits; empty: not stated
  int lid = 0;                            ///< of the switch; 0: not stated
  std::string name;                       ///< node description of the switch
  int line = 0;                           ///< line of the file on which the table begins
  std::vector<std::uint8_t> port_of_lid;  ///< output port; `no_port`: no entry; 0: the switch itself
};

/// The tables of a subnet.
struct ForwardingTables {
  std::vector<ForwardingTable> switches;
};

/// The LID that a flow uses if a port has several: the first one, as NCCL does, or one of the 2^LMC, chosen by the
/// number of the queue pair.
enum class LidChoice { base, all };
template <>
struct EnumNames<LidChoice> {
  static constexpr std::array<std::string_view, 2> names{"base", "all"};
};

/// Section `routing: {kind: lft}`.
struct LftSpec {
  std::string path;  ///< of the dump
  LidChoice lids = LidChoice::base;
  std::shared_ptr<const ForwardingTables> tables;  ///< filled in from the dump by the reader of the scenario
};

}  // namespace fabricast
