// Speeds of InfiniBand lanes.
#pragma once

#include <string_view>

namespace fabricast {

/// A speed of one lane.
struct LaneSpeed {
  std::string_view name;
  double signalled;  ///< signaling rate, Gb/s
  double data;       ///< Gb/s, after line coding and FEC
};

/// The speed with a name in capitals; null if there is none.
const LaneSpeed* lane_speed(std::string_view name);
/// The speed with a signaling rate in Gb/s, within 1 %, as iblinkinfo prints it; null if there is none.
const LaneSpeed* lane_speed(double signalled);

}  // namespace fabricast
