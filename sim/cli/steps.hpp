// `calibrate validate --steps` and `calibrate fit --steps`: measured steps instead of collectives.
#pragma once

#include "options.hpp"

namespace fabricast {

int validate_steps_of(const Options& options);
int fit_steps_of(const Options& options);

}  // namespace fabricast
