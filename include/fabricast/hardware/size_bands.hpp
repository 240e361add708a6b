// Size bands of collectives. Forecast errors are similar within a band, so errors are counted and spreads stated per
// band.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fabricast {

/// A range of sizes in bytes. `high` belongs to the next band.
struct Band {
  std::string_view name;
  std::int64_t low, high;
};
inline constexpr std::array bands = {Band{"<64KiB", 0, 1 << 16}, Band{"64KiB-1MiB", 1 << 16, 1 << 20},
                                     Band{"1-64MiB", 1 << 20, 1 << 26},
                                     Band{">=64MiB", 1 << 26, std::int64_t{1} << 62}};

/// Index of the band of a size.
constexpr std::size_t band_of(std::int64_t bytes) {
  std::size_t b = 0;
  while (b + 1 < bands.size() && bytes >= bands[b].high) ++b;
  return b;
}

}  // namespace fabricast
