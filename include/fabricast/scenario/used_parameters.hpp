// The hardware parameters that the collectives of a scenario depend on. They decide which parameters' own intervals
// widen the interval of a forecast (residual/parameter_groups.hpp).
//
// Pure function; safe to call concurrently.
#pragma once

#include <string>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// Prefixes of the paths of those parameters: `architectures.hopper.`, `networks.infiniband.`, `software.`. They cover
/// all sizes and algorithms, so a single call may depend on fewer. Parameters of computation are not included.
std::vector<std::string> used_parameters(const Scenario& scenario);

}  // namespace fabricast
