// Logs with a scenario each, for a fit of all of them.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

/// A list of {"log", "scenario", "system"}; paths start where the manifest is, and the system is the scenario's name unless
/// it is given.  \throws UserError for what is not of the form, and for what a log does not tell
std::vector<MeasuredCase> cases_of_manifest(const std::string& path);

}  // namespace fabricast
