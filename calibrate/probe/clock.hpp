// The host clock that all probes time with: steady, in seconds.
#pragma once

#include <chrono>

#include "fabricast/core/units.hpp"

namespace fabricast::probe {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
/// Time since the clock's own zero.
inline Seconds steady_now() { return {seconds_since({})}; }

}  // namespace fabricast::probe
