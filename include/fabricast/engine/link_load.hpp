// The load of each link of the fabric during a collective, as a heat map shows it.
//
//   load(l) = sum over channels c of  use(c, l) bytes(c)  /  makespan
//
// `use` is the fraction of the link's rate that a channel takes per B/s of payload, and `bytes` is the payload of one
// of its connections. A load is therefore an average over one call: at load 1 the link is full from beginning to end.
// Forecasts keep no table of links, so loads are computed separately, for one plan and one seed.
//
// Of a network with faults only the first segment counts. Links inside nodes are not included.
//
// A pure function; safe to call concurrently.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/engine/engine.hpp"

namespace fabricast {

/// The result of link_loads.
struct LinkLoads {
  std::vector<float> load;  ///< by link of the fabric, 0 to 1; empty if the job has one node
  Seconds makespan;         ///< by the flow engine
};

/// The loads of a plan, by the flow engine whatever engine makes the forecast. If the policy spreads flows over
/// bundles, the load of a bundle is divided among its links.
/// \throws UserError if the fabric is cut
LinkLoads link_loads(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed);

}  // namespace fabricast
