// The median.
#pragma once

#include <algorithm>
#include <vector>

namespace fabricast {

/// As Python's statistics.median: the mean of the middle two of an even number.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace fabricast
