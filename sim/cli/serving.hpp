// `calibrate validate --serving` and `calibrate fit --serving`: published measurements of serving instead of
// collectives.
#pragma once

#include "options.hpp"

namespace fabricast {

/// Runs `calibrate validate --serving`; returns the exit code.
int validate_serving_of(const Options& options);
/// Runs `calibrate fit --serving`; returns the exit code.
int fit_serving_of(const Options& options);

}  // namespace fabricast
