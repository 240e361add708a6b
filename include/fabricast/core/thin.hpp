// Some of many, evenly over all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fabricast {

/// Every n-th of `count` numbers from 0 on, with the smallest n that leaves `most` at most. \pre most >= 1
inline std::vector<std::size_t> thinned(std::size_t count, std::size_t most) {
  const std::size_t every = std::max<std::size_t>(1, (count + most - 1) / most);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < count; i += every) kept.push_back(i);
  return kept;
}

/// `most` of `count` numbers from 0 on, the first and the last among them; all where there are no more. \pre most >= 1
inline std::vector<std::size_t> spread_over(std::size_t count, std::size_t most) {
  const std::size_t n = std::min(count, most);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < n; ++i) kept.push_back(n == 1 ? 0 : (i * (count - 1) + (n - 1) / 2) / (n - 1));
  return kept;
}

}  // namespace fabricast
