// Speeds of InfiniBand lanes. Line coding [IBTA-spec] is 8b/10b up to QDR, 64b/66b from FDR10 to EDR, and RS(544,514)
// over 256b/257b for HDR and later, which leaves 50, 100 and 200 Gb/s of 53.125, 106.25 and 212.5.
#include "rates.hpp"

#include <array>
#include <cmath>

#include "fabricast/discover/subnet.hpp"

namespace fabricast {

namespace {
constexpr std::array speeds = {LaneSpeed{"SDR", 2.5, 2},
                               LaneSpeed{"DDR", 5, 4},
                               LaneSpeed{"QDR", 10, 8},
                               LaneSpeed{"FDR10", 10.3125, 10},
                               LaneSpeed{"FDR", 14.0625, 14.0625 * 64 / 66},
                               LaneSpeed{"EDR", 25.78125, 25},
                               LaneSpeed{"HDR", 53.125, 50},
                               LaneSpeed{"NDR", 106.25, 100},
                               LaneSpeed{"XDR", 212.5, 200}};
}

const LaneSpeed* lane_speed(std::string_view name) {
  for (const LaneSpeed& s : speeds)
    if (s.name == name) return &s;
  return nullptr;
}

const LaneSpeed* lane_speed(double signalled) {
  for (const LaneSpeed& s : speeds)
    // Tools round rates to a few digits, and no two speeds are within 1 %.
    if (std::abs(s.signalled - signalled) < 0.01 * s.signalled) return &s;
  return nullptr;
}

std::optional<BytesPerSecond> infiniband_rate(int width, std::string_view speed) {
  const LaneSpeed* lane = lane_speed(speed);
  // Widths of lanes that links negotiate [IBTA-spec].
  const bool known = width == 1 || width == 2 || width == 4 || width == 8 || width == 12;
  if (!lane || !known) return std::nullopt;
  return BytesPerSecond{width * lane->data * 0.125e9};
}

}  // namespace fabricast
