// What the module of the chunk engine offers to the program that opens it.
#pragma once

#include <vector>

#include "fabricast/engine/engine.hpp"

/// Once per process: SimGrid has one Engine, and keeps its clock.
/// \param router  null on a single node
/// \param ends    out: when each channel is done, s
extern "C" void fabricast_chunk_simulate(const fabricast::NetworkSetup& setup, const fabricast::Plan& plan,
                                         const fabricast::Router* router, std::vector<double>& ends);
