// Order statistics of values over samples: which sample is the median, or a percentile.
//
// Reports show values that one sample has, never interpolated ones, so that everything else of that sample (its
// bottleneck, its timeline) belongs to the printed number. With an even number of samples, the median is the upper of
// the two middle ones. Percentiles of few samples are extremes: of 20 or fewer, the 95th is the highest.
//
//   const RankedSamples ranked(times);                   // times of one call on each sample of the network
//   const Seconds median = times[ranked.at(0.5)];
//
// Safe to use concurrently after construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace fabricast {

/// Indices of samples in ascending order of their values. Equal values keep the order of their indices, so the ranking
/// is deterministic. Immutable. O(n log n) to make, O(1) to ask; it keeps no values.
class RankedSamples {
 public:
  /// \param values  numbers or units
  /// \pre there is at least one value, and none is NaN
  template <typename Value>
  explicit RankedSamples(const std::vector<Value>& values) : order_(values.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  }
  /// The index of the sample at a fraction of the order: 0 is the lowest value, 0.5 the median, 1 the highest.
  /// Fractions above 1 count as 1.
  /// \pre fraction is not negative
  std::size_t at(double fraction) const {
    const auto place = static_cast<std::size_t>(fraction * static_cast<double>(order_.size()));
    return order_[std::min(order_.size() - 1, place)];
  }

 private:
  std::vector<std::size_t> order_;
};

/// The mean over samples, which sees what is too rare for a median.
/// \pre there is at least one value
template <typename Value>
Value mean_of_samples(const std::vector<Value>& values) {
  return std::accumulate(values.begin(), values.end(), Value{}) / static_cast<double>(values.size());
}

}  // namespace fabricast
