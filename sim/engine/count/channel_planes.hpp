// How often each channel crosses each resource, in a byte: a plane of counts per channel, small enough to stay in the
// processor's cache while the channel's connections are hashed. Channels are independent, so each may be counted by
// another thread.
//
//   plane[c][l] = sum over connections e of channel c of  w_e | queue pairs of e whose path crosses l |  <= 255
//
// Readers need rows: the counts of all channels on one link. Links with equal rows are alike. So eight bytes of eight
// planes are read at once and transposed, and a row is one to eight words to hash and to compare.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace fabricast {

/// Transposes 8 x 8 bytes in three rounds: blocks of four, blocks of two, single bytes.
inline void turn(std::array<std::uint64_t, 8>& rows) {
  const auto swap = [&](std::size_t distance, std::uint64_t low) {
    for (std::size_t r = 0; r < 8; ++r) {
      if (r & distance) continue;
      std::uint64_t &a = rows[r], &b = rows[r + distance];
      const std::uint64_t moved = ((a >> 8 * distance) ^ b) & low;
      a ^= moved << 8 * distance;
      b ^= moved;
    }
  };
  swap(4, 0x00000000FFFFFFFFULL);
  swap(2, 0x0000FFFF0000FFFFULL);
  swap(1, 0x00FF00FF00FF00FFULL);
}

/// The counts of one resource: channel c has byte c % 8, from the lowest, of word c / 8. Bytes beyond the last channel
/// are 0, so rows of equal counts are equal words.
template <std::size_t W>
using CountRow = std::array<std::uint64_t, W>;

template <std::size_t W>
double count_of(const CountRow<W>& counts, std::size_t channel) {
  return static_cast<double>(counts[channel / 8] >> 8 * (channel % 8) & 0xFF);
}

class ChannelPlanes {
 public:
  static constexpr std::size_t most_channels = 64;

  /// \param first  the lowest resource that is counted here
  ChannelPlanes(std::uint32_t first, std::uint32_t resources, std::size_t channels)
      : first_(first),
        size_((std::size_t{resources} - first + 7) / 8 * 8),
        channels_(channels),
        counts_(channels * size_) {}

  /// \returns false if the count does not fit in a byte
  bool add(std::size_t channel, std::uint32_t resource, std::uint64_t count) {
    std::uint8_t& n = counts_[channel * size_ + (resource - first_)];
    if (count > 255U - n) return false;
    n = static_cast<std::uint8_t>(n + count);
    return true;
  }

  /// Calls use(resource, counts) for all resources that are crossed, in ascending order.
  /// \pre W words hold a byte for each channel
  template <std::size_t W, class Use>
  void for_each(Use use) const {
    static_assert(std::endian::native == std::endian::little, "words are read from bytes in memory order");
    std::array<CountRow<W>, 8> of{};
    for (std::size_t begin = 0; begin < size_; begin += 8) {
      for (std::size_t w = 0; w < W; ++w) {
        std::array<std::uint64_t, 8> rows{};
        for (std::size_t c = 8 * w; c < std::min(8 * w + 8, channels_); ++c)
          std::memcpy(&rows[c - 8 * w], counts_.data() + c * size_ + begin, 8);
        turn(rows);
        for (std::size_t i = 0; i < 8; ++i) of[i][w] = rows[i];
      }
      for (std::size_t i = 0; i < 8; ++i)
        if (of[i] != CountRow<W>{}) use(static_cast<std::uint32_t>(first_ + begin + i), of[i]);
    }
  }

 private:
  std::uint32_t first_;
  std::size_t size_, channels_;  ///< bytes of a plane, whole words; number of planes
  std::vector<std::uint8_t> counts_;
};

}  // namespace fabricast
