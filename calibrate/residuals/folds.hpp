// Models of errors for systems that they have not seen.
#pragma once

#include <vector>

#include "fabricast/calibrate/residuals.hpp"

namespace fabricast {

/// For each system a model that is learned without the fifth of the sites that it is of.
std::vector<ResidualModel> models_by_system(const std::vector<SystemResiduals>& systems);

}  // namespace fabricast
