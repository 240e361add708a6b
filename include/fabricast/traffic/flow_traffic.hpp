// Traffic by the flow engine: the time of every collective of a program together with all others in flight, for all
// groups at once. The equations are in docs/models/traffic.md.
//
// Not modelled: faults that begin or end during a step, and groups whose ranks are unevenly distributed over nodes;
// both are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabricast/scenario/world.hpp"
#include "fabricast/traffic/traffic.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// The traffic of a program on one sample of the network. Collectives are timed when they are first needed; the order
/// does not change the results. World and program must outlive the object, which is not thread-safe.
/// \param threads  for timing; results do not depend on it
/// \throws UserError, here or from the object's functions, if the scenario has settings that steps do not support, if a
///   fault begins or ends during the step, if the ranks of a group are unevenly distributed over its nodes, or if the
///   fabric is cut
/// \throws Interrupted on Ctrl-C
std::unique_ptr<Traffic> make_flow_traffic(const World& world, const Program& program, std::uint64_t seed,
                                           std::size_t threads = 1);
/// The same for several worlds with different hardware on one sample of the network, with all collectives timed. Counts
/// that the worlds have in common are made once. \pre at least one world
std::vector<std::unique_ptr<Traffic>> make_flow_traffics(std::span<const World> worlds, const Program& program,
                                                         std::uint64_t seed, std::size_t threads);

}  // namespace fabricast
