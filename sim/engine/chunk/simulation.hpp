// The interface of the chunk engine's module, which the program loads at run time.
#pragma once

#include <vector>

#include "fabricast/engine/engine.hpp"

/// Simulates a plan. At most once per process, because SimGrid has one Engine and keeps its clock.
/// \param router  null on a single node
/// \param ends    output: end of each channel, s
extern "C" void fabricast_chunk_simulate(const fabricast::NetworkSetup& setup, const fabricast::Plan& plan,
                                         const fabricast::Router* router, std::vector<double>& ends);
