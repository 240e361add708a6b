// Values over draws, and which of them stand where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace fabricast {

/// Draws by rising value; equal ones by number.
class RankedSamples {
 public:
  /// \pre there is a value
  explicit RankedSamples(const std::vector<double>& values) : order_(values.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  }
  /// The draw at a fraction of the order, the nearest there is: 0 the first, 1 the last.
  std::size_t at(double fraction) const {
    const auto place = static_cast<std::size_t>(fraction * static_cast<double>(order_.size()));
    return order_[std::min(order_.size() - 1, place)];
  }

 private:
  std::vector<std::size_t> order_;
};

}  // namespace fabricast
