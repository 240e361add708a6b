// A request to stop, from Ctrl-C: long work asks now and then and throws Interrupted.
#pragma once

#include <atomic>

#include "fabricast/core/error.hpp"

namespace fabricast {

inline std::atomic<bool> stop_requested{false};

inline void stop_if_requested() {
  if (stop_requested.load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace fabricast
