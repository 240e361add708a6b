// Rows that wait for a new level, least key first: a 4-ary heap.
//
// A key and its row are one 64-bit number: the leading 40 bits of the key (non-negative doubles are ordered as their
// bits), then the row. So a comparison costs one instruction, and equal keys come in order of rows. What lies beyond
// 2e-9 of a key is not seen: the order decides how much work the levels take, not what they are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

class LevelQueue {
 public:
  void grow(std::size_t rows) {
    FABRICAST_CHECK(rows <= most_rows, "rows have 24 bits");
    waits_.resize(rows);
  }
  bool empty() const { return heap_.empty(); }
  bool holds(std::uint32_t row) const { return waits_[row]; }

  /// Whether some other row comes before `row` with this key.
  bool before(std::uint32_t row, double key) const { return !heap_.empty() && heap_.front() < entry(row, key); }

  /// \pre does not hold `row`; key >= 0
  void push(std::uint32_t row, double key) {
    waits_[row] = 1;
    const std::uint64_t e = entry(row, key);
    std::size_t at = heap_.size();
    heap_.push_back(e);
    for (; at > 0 && e < heap_[(at - 1) / 4]; at = (at - 1) / 4) heap_[at] = heap_[(at - 1) / 4];
    heap_[at] = e;
  }

  /// \pre not empty
  std::uint32_t pop() {
    const auto row = static_cast<std::uint32_t>(heap_.front() % most_rows);
    waits_[row] = 0;
    const std::uint64_t last = heap_.back();
    heap_.pop_back();
    std::size_t at = 0;
    for (std::size_t child; (child = least_child(at)) < heap_.size() && heap_[child] < last; at = child)
      heap_[at] = heap_[child];
    if (!heap_.empty()) heap_[at] = last;
    return row;
  }

 private:
  static constexpr std::uint64_t most_rows = 1U << 24;

  static std::uint64_t entry(std::uint32_t row, double key) {
    return (std::bit_cast<std::uint64_t>(key) >> 23) * most_rows + row;
  }

  std::size_t least_child(std::size_t at) const {
    const std::size_t first = 4 * at + 1, size = heap_.size();
    if (first + 4 <= size) {  // without branches
      const std::uint64_t* e = &heap_[first];
      const std::size_t a = e[1] < e[0], b = 2 + (e[3] < e[2]);
      return first + (e[b] < e[a] ? b : a);
    }
    std::size_t least = first;
    for (std::size_t child = first + 1; child < size; ++child)
      if (heap_[child] < heap_[least]) least = child;
    return least;
  }

  std::vector<std::uint64_t> heap_;
  std::vector<std::uint8_t> waits_;  ///< by row
};

}  // namespace fabricast
