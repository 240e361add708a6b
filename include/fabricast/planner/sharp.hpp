// SHARP: what the switches of a fabric offer a job, by their generation [SHARP-manual].
//
//   generation   link    streaming trees   at once in a switch
//   v2           HDR     63                one
//   v3           NDR     511               one per port
//   v4           XDR     511               one per port
//
// A job takes a tree for every NIC of a node, and with it a low-latency tree, of which there are as many. Trees that meet
// in a switch which streams one at a time take turns.
#pragma once

#include "fabricast/core/fields.hpp"
#include "fabricast/planner/planner.hpp"

namespace fabricast {

enum class SharpGeneration { automatic, none, v2, v3, v4 };
template <>
struct EnumNames<SharpGeneration> {
  static constexpr std::array<std::string_view, 5> names{"auto", "none", "v2", "v3", "v4"};
};

struct SharpSpec {
  SharpGeneration generation = SharpGeneration::automatic;
  int other_trees = 0;  ///< of other jobs, on the same switches
  Bytes streaming_from{16384};
};
void visit_fields(FieldVisitor& visit, SharpSpec& spec);

/// What a job gets; `without` says why if it gets nothing.
/// \throws UserError if a generation is given for a network that has no SHARP.
SharpService sharp_service(const SharpSpec& spec, const Communicator& comm, const Fabric* fabric);

}  // namespace fabricast
