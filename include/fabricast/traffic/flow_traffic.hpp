// Traffic by the flow engine: every exchange with all that is in flight beside it, of all groups at once.
// The equations are in docs/models/traffic.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabricast/scenario/world.hpp"
#include "fabricast/traffic/traffic.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// One draw of the network. Exchanges are timed when they are first asked for; what comes out does not depend on the
/// order. World and program outlive it.
/// \throws UserError, then or later, if a fault comes or goes, if a group's ranks are spread unevenly over its nodes, or
///   if the fabric is cut. Interrupted on Ctrl-C
std::unique_ptr<Traffic> make_flow_traffic(const World& world, const Program& program, std::uint64_t seed,
                                           std::size_t threads = 1);
/// The same of worlds of different hardware on one draw, all exchanges timed: what they have in common is counted once.
std::vector<std::unique_ptr<Traffic>> make_flow_traffics(std::span<const World* const> worlds, const Program& program,
                                                         std::uint64_t seed, std::size_t threads);

}  // namespace fabricast
