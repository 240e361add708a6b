// How often each channel crosses each resource, in a byte: a plane of counts per channel, small enough to stay near the
// processor while its connections are hashed. Channels are independent, whatever thread counts them.
//
//   plane[c][l] = sum over connections e of channel c of  w_e | queue pairs of e whose path crosses l |  <= 255
//
// What is asked for later is a row, the counts of all channels on one link: links with equal rows are alike. So eight
// bytes of eight planes are read at once and turned, and a row is one to eight words to hash and to compare.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace fabricast {

/// Byte c of row r and byte r of row c change places: in three rounds, of blocks of four, of two and of single bytes.
inline void turn(std::array<std::uint64_t, 8>& rows) {
  const auto swap = [&](std::size_t distance, std::uint64_t low) {
    for (std::size_t r = 0; r < 8; ++r) {
      if (r & distance) continue;
      std::uint64_t &a = rows[r], &b = rows[r + distance];
      const std::uint64_t moved = ((a >> 8 * distance) ^ b) & low;
      a ^= moved << 8 * distance, b ^= moved;
    }
  };
  swap(4, 0x00000000FFFFFFFFULL), swap(2, 0x0000FFFF0000FFFFULL), swap(1, 0x00FF00FF00FF00FFULL);
}

/// One resource's counts: channel c has byte c % 8 of word c / 8, from the lowest. What is beyond the last channel is
/// 0, so that rows of equal counts are equal words.
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
      : first_(first), size_((resources - first + 7) / 8 * 8), channels_(channels), counts_(channels * size_) {}

  /// \returns false if the count does not go into a byte
  bool add(std::size_t channel, std::uint32_t resource, std::uint64_t count) {
    std::uint8_t& n = counts_[channel * size_ + (resource - first_)];
    if (count > 255U - n) return false;
    n = static_cast<std::uint8_t>(n + count);
    return true;
  }

  /// Calls use(resource, counts) for all that are crossed, by rising resource.
  /// \pre  W words hold a byte for each channel
  template <std::size_t W, class Use>
  void for_each(Use use) const {
    static_assert(std::endian::native == std::endian::little, "words are read from bytes as they lie");
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
  std::size_t size_, channels_;  ///< of a plane: whole words
  std::vector<std::uint8_t> counts_;
};

}  // namespace fabricast
