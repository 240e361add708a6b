// How far the level of a system's curve is from the forecast's: what a factor per system would leave, and what causes that
// a scenario can state have to do with it.
//
// The level of a system in a band is the median of ln(forecast / measured) over its rows there. Two sites with the same
// parts differ by it, as no model of the parts can tell them apart; whoever has measured a few sizes knows it.
#pragma once

#include <string_view>
#include <vector>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/error_row.hpp"

namespace fabricast {

/// Medians over systems.
struct Levels {
  BandValues as_is{}, one_factor{},
      factor_per_band{};  ///< errors: as they are, and with a free factor per system, or band
  /// Nine of ten systems have a level within this factor of the forecast, less one.
  BandValues nine_of_ten{};
};
Levels levels_of(const std::vector<ErrorRow>& rows);

/// A cause by which systems are parted, and the median level of each part: positive, if forecasts are above.
struct LevelCause {
  std::string_view name;
  std::array<int, bands.size()> having{}, other{};  ///< systems
  BandValues with{}, without{};
};
std::vector<LevelCause> level_causes(const std::vector<ErrorRow>& rows, const std::vector<MeasuredCase>& cases);

}  // namespace fabricast
