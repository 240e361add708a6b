// The effective scenario as JSON: every default is filled in, and every quantity has its unit.
#pragma once

#include <nlohmann/json.hpp>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// The scenario with every key that applies to it, so that reading the result gives the same scenario.
nlohmann::ordered_json effective_json(const Scenario& scenario);

}  // namespace fabricast
