// Which hardware parameters a scenario's collectives depend on.
#pragma once

#include <string>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// What the paths of those parameters begin with: `architectures.hopper.`, `networks.infiniband.`, `software.`.
std::vector<std::string> used_parameters(const Scenario& scenario);

}  // namespace fabricast
