// The optimal checkpoint interval, and the expected useful fraction of time if failures are a Poisson process.
//
//   d   pause for a checkpoint              R   restart, which may fail again
//   M   mean time between failures          t   work between two checkpoints
//
// The optimal t [Daly2006], whose first term is Young's sqrt(2 d M) [Young1974]:
//
//   t = sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d      if d < 2 M, else M
//
// The useful fraction of the time [Daly2006], with which tests compare sampled months:
//
//   (t / M) e^(-R / M) / (e^((t + d) / M) - 1)
#pragma once

#include <cmath>

#include "fabricast/core/units.hpp"

namespace fabricast {

/// The optimal t; infinite if there are no failures.
inline Seconds best_interval(Seconds pause, Seconds between_stops) {
  if (!std::isfinite(between_stops.value)) return between_stops;
  const double x = pause / (2 * between_stops);
  if (x >= 1) return between_stops;
  return Seconds{std::sqrt(2 * pause.value * between_stops.value) * (1 + std::sqrt(x) / 3 + x / 9)} - pause;
}

/// The expected useful fraction of the time. Arguments in s.
inline double daly_goodput(double every, double pause, double restart, double between_stops) {
  return every / between_stops * std::exp(-restart / between_stops) / std::expm1((every + pause) / between_stops);
}

}  // namespace fabricast
