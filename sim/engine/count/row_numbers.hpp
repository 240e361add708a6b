// Rows of 64-bit numbers, numbered in the order in which they are first seen.
//
// Millions of links have few distinct rows of counts [solver-study-3]. A row is stored once, and its number stands for
// it. Numbers depend neither on the hash nor on the size of the table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace fabricast {

/// Adds a word to the hash of a row; hash_end turns the result into 32 bits.
inline std::uint64_t hash_on(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * 0x9e3779b97f4a7c15ULL, 29);
}
inline std::uint64_t hash_end(std::uint64_t hash) { return (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9ULL >> 32; }

/// \tparam T  a type of 64 bits; values are equal if their bits are
template <class T>
class RowNumbers {
 public:
  using Row = std::span<const T>;
  explicit RowNumbers(std::size_t words) : words_(words), at_(1024, none) {}

  /// \pre the row has the number of words that the constructor was given
  /// \returns its number, and whether it is new; a new row gets the next number
  std::pair<std::uint32_t, bool> find_or_add(Row row) {
    std::size_t i = home(row);
    for (; at_[i] != none; i = (i + 1) & (at_.size() - 1))
      if (same(row, of(at_[i]))) return {at_[i], false};
    const std::uint32_t number = size();
    at_[i] = number;
    seen_.insert(seen_.end(), row.begin(), row.end());
    if (2 * (std::size_t{number} + 1) > at_.size()) grow();
    return {number, true};
  }
  std::uint64_t hash_of(Row row) const {
    std::uint64_t hash = 0;
    for (const T word : row) hash = hash_on(hash, spread(word));
    return hash_end(hash);
  }
  Row of(std::uint32_t number) const { return {seen_.data() + number * words_, words_}; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(seen_.size() / words_); }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  static std::uint64_t bits(T word) { return std::bit_cast<std::uint64_t>(word); }
  /// Integers stored as floating-point numbers have all their bits at the upper end.
  static std::uint64_t spread(T word) {
    return std::is_floating_point_v<T> ? bits(word) ^ bits(word) >> 32 : bits(word);
  }
  /// Rows are short, so they are compared without a call.
  static bool same(Row a, Row b) {
    std::uint64_t differ = 0;
    for (std::size_t w = 0; w < a.size(); ++w) differ |= bits(a[w]) ^ bits(b[w]);
    return differ == 0;
  }
  std::size_t home(Row row) const { return static_cast<std::size_t>(hash_of(row)) & (at_.size() - 1); }
  void grow() {
    at_.assign(2 * at_.size(), none);
    for (std::uint32_t number = 0; number < size(); ++number) {
      std::size_t i = home(of(number));
      while (at_[i] != none) i = (i + 1) & (at_.size() - 1);
      at_[i] = number;
    }
  }

  std::size_t words_;
  std::vector<std::uint32_t> at_;  ///< numbers by hash, open addressing, at most half full
  std::vector<T> seen_;
};

}  // namespace fabricast
