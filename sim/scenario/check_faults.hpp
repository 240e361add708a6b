// The faults of a scenario: whether each names one component, and states what is wrong with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "refusal.hpp"

namespace fabricast {

/// Checks the section `faults`. A clock without a rate leaves the rate whole.
/// \param given  whether the scenario states a key, such as `faults[0].rate`
void check_faults(Scenario& scenario, const std::function<bool(const std::string&)>& given, const Refusal& refuse,
                  std::vector<Diagnostic>& warnings);

}  // namespace fabricast
