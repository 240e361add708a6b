// The only place where exceptions become messages and exit codes (core/error.hpp has the kinds of faults).
#pragma once

#include <functional>

namespace fabricast {

/// Runs a command, prints its errors, and returns the exit code: that of the command; 2 bad command or scenario; 3
/// hardware or backend unavailable; 4 internal error; 130 interrupted. Ctrl-C is caught from then on.
int exit_code_of(const std::function<int()>& command);

}  // namespace fabricast
