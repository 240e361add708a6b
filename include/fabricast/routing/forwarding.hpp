// Forwarding tables of InfiniBand switches, as their subnet manager filled them [IBTA-spec].
//
// A switch sends a packet out of the port that its table has for the packet's destination LID. A table is an array by
// LID, as in the switch; the tables of a thousand switches and twenty thousand LIDs take 20 MB.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

constexpr std::uint8_t no_port = 255;  ///< what a table has for a LID that it does not forward [IBTA-spec]

struct ForwardingTable {
  std::string guid;  ///< 16 hexadecimal digits; empty: not told
  int lid = 0;       ///< 0: not told
  std::string name;
  int line = 0;                           ///< of the file, where it begins
  std::vector<std::uint8_t> port_of_lid;  ///< `no_port` where there is no entry; 0 is the switch itself
};

struct ForwardingTables {
  std::vector<ForwardingTable> switches;
};

/// The LIDs of a port that flows go to: its first, as NCCL does, or each of the 2^LMC by the number of the queue pair.
enum class LidChoice { base, all };
template <>
struct EnumNames<LidChoice> {
  static constexpr std::array<std::string_view, 2> names{"base", "all"};
};

/// What `routing: {kind: lft}` takes; the scenario's reader fills in the tables.
struct LftSpec {
  std::string path;
  LidChoice lids = LidChoice::base;
  std::shared_ptr<const ForwardingTables> tables;
};

}  // namespace fabricast
