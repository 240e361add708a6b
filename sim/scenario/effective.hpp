// The effective scenario as JSON: every default filled in, every quantity with its unit.
#pragma once

#include <nlohmann/json.hpp>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

nlohmann::ordered_json effective_json(const Scenario& scenario);

}  // namespace fabricast
