// How often each channel crosses each resource, in a byte: a plane of counts per channel, small enough to stay near the
// processor while its connections are hashed. Channels are independent, whatever thread counts them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace fabricast {

/// Byte c of row r and byte r of row c change places.
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

class ChannelPlanes {
 public:
  static constexpr std::size_t most_channels = 64;
  /// One resource's counts: channel c has byte c % 8 of word c / 8, from the lowest. Words beyond the last channel's are 0.
  using Counts = std::array<std::uint64_t, most_channels / 8>;
  static double count_of(const Counts& counts, std::size_t channel) {
    return static_cast<double>(counts[channel / 8] >> 8 * (channel % 8) & 0xFF);
  }

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
  template <class Use>
  void for_each(Use use) const {
    static_assert(std::endian::native == std::endian::little, "words are read from bytes as they lie");
    const std::size_t words = (channels_ + 7) / 8;
    std::array<Counts, 8> of{};
    for (std::size_t begin = 0; begin < size_; begin += 8) {
      for (std::size_t w = 0; w < words; ++w) {
        std::array<std::uint64_t, 8> rows{};
        for (std::size_t c = 8 * w; c < std::min(8 * w + 8, channels_); ++c)
          std::memcpy(&rows[c - 8 * w], counts_.data() + c * size_ + begin, 8);
        turn(rows);
        for (std::size_t i = 0; i < 8; ++i) of[i][w] = rows[i];
      }
      for (std::size_t i = 0; i < 8; ++i) {
        std::uint64_t any = 0;
        for (std::size_t w = 0; w < words; ++w) any |= of[i][w];
        if (any) use(static_cast<std::uint32_t>(first_ + begin + i), of[i]);
      }
    }
  }

 private:
  std::uint32_t first_;
  std::size_t size_, channels_;  ///< of a plane: whole words
  std::vector<std::uint8_t> counts_;
};

/// Numbers what has been seen.
class SeenCounts {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  explicit SeenCounts(std::size_t channels) : words_((channels + 7) / 8), at_(1024, none) {}

  /// \returns its number, and whether it is new: then it is the next one
  std::pair<std::uint32_t, bool> find_or_add(const ChannelPlanes::Counts& counts) {
    std::size_t i = home(counts.data());
    for (; at_[i] != none; i = (i + 1) & (at_.size() - 1))
      if (std::equal(counts.begin(), counts.begin() + words_, seen_.begin() + at_[i] * words_)) return {at_[i], false};
    const auto number = static_cast<std::uint32_t>(seen_.size() / words());
    at_[i] = number;
    seen_.insert(seen_.end(), counts.begin(), counts.begin() + words_);
    if (2 * (std::size_t{number} + 1) > at_.size()) grow();
    return {number, true};
  }

 private:
  std::size_t words() const { return static_cast<std::size_t>(words_); }
  std::size_t home(const std::uint64_t* counts) const {
    std::uint64_t hash = 0;
    for (std::size_t w = 0; w < words(); ++w) hash = std::rotl((hash ^ counts[w]) * 0x9e3779b97f4a7c15ULL, 29);
    return static_cast<std::size_t>(hash * 0xbf58476d1ce4e5b9ULL >> 32) & (at_.size() - 1);
  }
  void grow() {
    at_.assign(4 * at_.size(), none);
    for (std::uint32_t number = 0; number * words() < seen_.size(); ++number) {
      std::size_t i = home(seen_.data() + number * words());
      while (at_[i] != none) i = (i + 1) & (at_.size() - 1);
      at_[i] = number;
    }
  }

  std::ptrdiff_t words_;
  std::vector<std::uint32_t> at_;  ///< numbers by hash, open addressing, at most half full
  std::vector<std::uint64_t> seen_;
};

}  // namespace fabricast
