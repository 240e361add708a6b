// Options of the servers: what a request may use, and what it may see.
#pragma once

#include "../api/service/limits.hpp"
#include "options.hpp"

namespace fabricast {

/// \throws UserError if a value is invalid; Unavailable if the kernel cannot confine reading to the directory
ServiceLimits service_limits(const Options& options);
ServiceFiles service_files(const Options& options);

}  // namespace fabricast
