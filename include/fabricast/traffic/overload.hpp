// What the collectives of a program expose to lost packets (engine/loss.hpp), kind by kind.
//
// A pure function. Not modelled: overload of a link by several groups together, and transfers from memory to memory.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/engine/loss.hpp"
#include "fabricast/scenario/world.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// One call of a kind, by all its groups at once.
struct ExposedCall {
  CallPackets packets;
  Overload overload;
};

/// By kind of collective, on one sample of the network.
/// \param overloads  whether to find overloaded ports, which takes as long as timing the collectives
/// \throws UserError as make_flow_traffic does
std::vector<ExposedCall> exposed_calls(const World& world, const LossModel& model, const Program& program,
                                       std::uint64_t seed, bool overloads);

}  // namespace fabricast
