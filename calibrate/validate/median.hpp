// The median.
#pragma once

#include <algorithm>
#include <vector>

namespace fabricast {

/// The median, as Python's statistics.median: of an even number of values, the mean of the middle two. 0 if there are
/// none.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace fabricast
