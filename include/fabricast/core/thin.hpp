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

}  // namespace fabricast
