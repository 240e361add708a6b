// How busy a collective keeps each link of the fabric: what a heat map shows.
//
//   load(l) = sum over channels c of  use(c, l) bytes(c)  /  makespan
//
// `use` is the part of the link's rate that the channel takes for each B/s of payload, `bytes` the payload of one of its
// connections. So a load is the mean over one call: 1 is a link that is full from beginning to end. It is counted apart
// from the forecast, which keeps no table of links.
//
// Of a network with faults the first segment counts. Links inside nodes are not here.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/engine/engine.hpp"

namespace fabricast {

struct LinkLoads {
  std::vector<float> load;  ///< by link of the fabric, 0 to 1; empty where the job has one node
  Seconds makespan;         ///< of the flow engine
};

/// By the flow engine, whatever engine forecasts.
/// \throws UserError if the fabric is cut
LinkLoads link_loads(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed);

}  // namespace fabricast
