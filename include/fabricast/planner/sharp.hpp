// SHARP: the aggregation that the switches of a fabric offer a job, by their generation [SHARP-manual].
//
//   generation   link    streaming trees   concurrent in a switch
//   v2           HDR     63                one
//   v3           NDR     511               one per port
//   v4           XDR     511               one per port
//
// A job uses one streaming tree per NIC of a node, and with each a low-latency tree, of which there are equally many.
// Trees that share a v2 switch take turns in it.
//
// Pure functions; safe to call concurrently.
#pragma once

#include "fabricast/core/fields.hpp"
#include "fabricast/planner/planner.hpp"

namespace fabricast {

/// Generation of SHARP; automatic: by the rate of the links.
enum class SharpGeneration { automatic, none, v2, v3, v4 };
template <>
struct EnumNames<SharpGeneration> {
  static constexpr std::array<std::string_view, 5> names{"auto", "none", "v2", "v3", "v4"};
};

/// Section `sharp`.
struct SharpSpec {
  SharpGeneration generation = SharpGeneration::automatic;
  int other_trees = 0;          ///< trees of other jobs on the same switches
  Bytes streaming_from{16384};  ///< shortest message that streams
};
/// The keys of the section with their limits (core/fields.hpp).
void visit_fields(FieldVisitor& visit, SharpSpec& spec);

/// The aggregation that a job gets; `without` states the reason if it gets none. \param fabric  null for a single node
/// \throws UserError if a generation is given for a network without SHARP
SharpService sharp_service(const SharpSpec& spec, const Communicator& comm, const Fabric* fabric);

}  // namespace fabricast
