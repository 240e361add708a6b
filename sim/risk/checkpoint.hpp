// When to save, and what a month is worth if failures strike at random.
//
//   d   the pause for a checkpoint          R   restart, which a failure may strike, too
//   M   mean time between failures          t   work between two checkpoints
//
// Best t [Daly2006]; Young's sqrt(2 d M) is its first term [Young1974]:
//
//   t = sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d      if d < 2 M, else M
//
// Useful part of the time [Daly2006]:
//
//   (t / M) e^(-R / M) / (e^((t + d) / M) - 1)
#pragma once

#include <cmath>

namespace fabricast {

inline double best_interval(double pause, double between_stops) {
  if (!std::isfinite(between_stops)) return between_stops;
  const double x = pause / (2 * between_stops);
  if (x >= 1) return between_stops;
  return std::sqrt(2 * pause * between_stops) * (1 + std::sqrt(x) / 3 + x / 9) - pause;
}

inline double daly_goodput(double every, double pause, double restart, double between_stops) {
  return every / between_stops * std::exp(-restart / between_stops) / std::expm1((every + pause) / between_stops);
}

}  // namespace fabricast
