// What would help: changes of a scenario, each simulated, and what they gain.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// A gain below this is not worth a line: forecasts do not tell it apart.
inline constexpr double least_gain = 0.02;

struct WhatIf {
  std::string what;
  std::vector<std::string> set;  ///< the `--set` words that make it
  double time = 0;               ///< s, median over draws
  double gain = 0;               ///< part of the time that is saved
};

/// Tries what applies to the scenario: no faults, GPUDirect RDMA, NICs near their GPUs, other routing, more queue pairs, no
/// oversubscription, placement in order, faster NICs, the fastest of the algorithms that NCCL weighed.
/// \param forecast  of one size   \param weighed  of that size by run_candidates
/// \returns those that gain `least_gain` or more, the best first
std::vector<WhatIf> what_would_help(const World& world, const Forecast& forecast, const Forecast& weighed,
                                    const RunOptions& options = {});

}  // namespace fabricast
