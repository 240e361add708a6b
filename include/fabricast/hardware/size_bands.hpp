// Size bands: forecasts err alike within one, so errors are counted, and spreads stated, by band.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fabricast {

struct Band {
  std::string_view name;
  std::int64_t low, high;  ///< bytes; `high` belongs to the next one
};
inline constexpr std::array bands = {Band{"<64KiB", 0, 1 << 16}, Band{"64KiB-1MiB", 1 << 16, 1 << 20},
                                     Band{"1-64MiB", 1 << 20, 1 << 26},
                                     Band{">=64MiB", 1 << 26, std::int64_t{1} << 62}};

constexpr std::size_t band_of(std::int64_t bytes) {
  std::size_t b = 0;
  while (b + 1 < bands.size() && bytes >= bands[b].high) ++b;
  return b;
}

}  // namespace fabricast
