// Speeds of InfiniBand lanes.
#pragma once

#include <string_view>

namespace fabricast {

struct LaneSpeed {
  std::string_view name;
  double signalled;  ///< Gb/s
  double data;       ///< Gb/s, after line coding and FEC
};

/// By name, in capitals; null if there is none.
const LaneSpeed* lane_speed(std::string_view name);
/// By signalling rate in Gb/s, as iblinkinfo prints it.
const LaneSpeed* lane_speed(double signalled);

}  // namespace fabricast
