// `calibrate validate --serving`: published measurements of serving instead of collectives.
#pragma once

#include "options.hpp"

namespace fabricast {

int validate_serving_of(const Options& options);
/// `calibrate fit --serving`
int fit_serving_of(const Options& options);

}  // namespace fabricast
