// Size bands of collectives. Forecast errors are similar within a band, so errors are counted and spreads stated per
// band.
//
// The bounds are a choice rather than a fit, and the same for all systems and operations. They separate calls whose
// time is mostly latency from calls whose time is mostly transfer.
//
// The bands are part of file formats: the parameters `below_64KiB` to `from_64MiB` of a spread (models/hardware) and
// the tables of docs/validation.md have one entry for each. Constants and a pure function; safe to use concurrently.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fabricast {

/// A range of sizes in bytes, as nccl-tests counts them: for an all_gather the buffer of all ranks.
struct Band {
  std::string_view name;   ///< as tables show it
  std::int64_t low, high;  ///< `low` belongs to the band, `high` to the next one
};
/// All bands in ascending order, without gaps. The last one has no upper end that a call could reach.
inline constexpr std::array bands = {Band{"<64KiB", 0, 1 << 16}, Band{"64KiB-1MiB", 1 << 16, 1 << 20},
                                     Band{"1-64MiB", 1 << 20, 1 << 26},
                                     Band{">=64MiB", 1 << 26, std::int64_t{1} << 62}};

/// Index of the band of a size, 0 to bands.size() - 1. Sizes beyond all bands are in the last one, and a size below 0,
/// which no call has, is in the first.
constexpr std::size_t band_of(std::int64_t bytes) {
  std::size_t b = 0;
  while (b + 1 < bands.size() && bytes >= bands[b].high) ++b;
  return b;
}

}  // namespace fabricast
