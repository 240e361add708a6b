// Separates forecast errors of systems into a level and the rest: how large errors would be with a free factor per
// system, and how levels relate to properties that a scenario can state.
//
// The level of a system in a size band is the median of ln(forecast / measured) over its rows there. Two sites with the
// same parts may differ in level. No model of the parts can distinguish them, but a few measured sizes show the level.
//
// Errors and levels are relative: 0.1 is 10 %. Pure functions; safe to call concurrently.
#pragma once

#include <string_view>
#include <vector>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/error_row.hpp"

namespace fabricast {

/// Errors by size band, as medians over systems of their median errors; 0 for a band without rows.
struct Levels {
  BandValues as_is{};            ///< as forecast
  BandValues one_factor{};       ///< with a free factor per system
  BandValues factor_per_band{};  ///< with a free factor per system and band
  /// 90th percentile over systems of the distance of their level from the forecast, as a factor minus 1.
  BandValues nine_of_ten{};
};
/// The levels of all systems in `rows`. A factor for a system is the mean over its bands of their levels, since bands
/// have different numbers of rows.
Levels levels_of(const std::vector<ErrorRow>& rows);

/// A property that divides the systems in two, with the median level of both groups. Levels are positive if forecasts
/// are above measurements.
struct LevelCause {
  std::string_view name;
  std::array<int, bands.size()> having{}, other{};  ///< numbers of systems with and without the property
  BandValues with{}, without{};                     ///< their levels
};
/// A system has a property if one of its cases has it.
std::vector<LevelCause> level_causes(const std::vector<ErrorRow>& rows, const std::vector<MeasuredCase>& cases);

}  // namespace fabricast
