// A request to stop, from Ctrl-C. Long work checks it now and then and throws Interrupted.
//
// The signal handlers of sim/cli/stop.cpp set the flag. A program that embeds the library may set it from any thread.
// The flag is global: it stops all work of the process.
#pragma once

#include <atomic>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// Whether a stop was requested. Nothing in the library resets it.
inline std::atomic<bool> stop_requested{false};

/// Cheap enough to call in loops.
/// \throws Interrupted if a stop was requested
inline void stop_if_requested() {
  if (stop_requested.load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace fabricast
