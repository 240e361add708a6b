// `calibrate validate --steps` and `calibrate fit --steps`: measured steps instead of collectives.
#pragma once

#include "options.hpp"

namespace fabricast {

/// Runs `calibrate validate --steps`; returns the exit code.
int validate_steps_of(const Options& options);
/// Runs `calibrate fit --steps`; returns the exit code.
int fit_steps_of(const Options& options);

}  // namespace fabricast
