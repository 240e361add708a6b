// What the choices of a tuner table (tuner.cpp) and the overrides of a profile (tuner_profile.cpp) have in common.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "fabricast/report/tuner.hpp"

namespace fabricast {

// Times are not compared: the same choice has another time at another size.
inline bool same(const TunerChoice& a, const TunerChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// The smallest size that belongs to a point. Between two points the choice changes at their geometric mean; sizes below
/// the first point belong to it.
inline std::int64_t first_size(const std::vector<TunerPoint>& points, std::size_t i) {
  if (i == 0) return 0;
  return static_cast<std::int64_t>(
      std::sqrt(static_cast<double>(points[i - 1].bytes) * static_cast<double>(points[i].bytes)));
}
/// The largest size that belongs to a point; none is larger for the last one.
inline std::int64_t last_size(const std::vector<TunerPoint>& points, std::size_t i) {
  return i + 1 < points.size() ? first_size(points, i + 1) - 1 : std::numeric_limits<std::int64_t>::max();
}

}  // namespace fabricast
