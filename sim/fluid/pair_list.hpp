// The rows that some row shares flows with, and the weight of those flows. Unordered, each row once.
//
// Found by plain search: lists are short (tens of rows), and a block of ids is compared at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricast {

class PairList {
 public:
  struct Shared {
    double weight;
    std::uint32_t flows;  ///< decides when a pair is gone, since `weight` is rounded
  };

  std::size_t size() const { return rows_.size(); }
  const std::uint32_t* rows() const { return rows_.data(); }
  const Shared* shared() const { return shared_.data(); }

  void add(std::uint32_t row, double weight) {
    const std::size_t at = find(row);
    if (at == rows_.size()) {
      rows_.push_back(row);
      shared_.push_back({weight, 1});
    } else {
      shared_[at].weight += weight;
      ++shared_[at].flows;
    }
  }

  /// \pre `row` is here.
  void drop(std::uint32_t row, double weight) {
    const std::size_t at = find(row);
    if (--shared_[at].flows > 0) {
      shared_[at].weight -= weight;
    } else {
      rows_[at] = rows_.back(), rows_.pop_back();
      shared_[at] = shared_.back(), shared_.pop_back();
    }
  }

  void clear() { rows_.clear(), shared_.clear(); }

 private:
  std::size_t find(std::uint32_t row) const {
    constexpr std::size_t block = 16;
    std::size_t at = 0;
    for (; at + block <= rows_.size(); at += block) {
      std::uint32_t found = 0;
      for (std::size_t i = 0; i < block; ++i) found |= rows_[at + i] == row;
      if (found) break;
    }
    while (at < rows_.size() && rows_[at] != row) ++at;
    return at;
  }

  std::vector<std::uint32_t> rows_;
  std::vector<Shared> shared_;
};

}  // namespace fabricast
