// Chooses some of many items, spread evenly, for example the rows of a long table that a fit looks at.
//
// No random choice: equal counts give equal rows, so a fit is repeatable. What has a period in the table, such as one
// size in every tenth row, can be picked too often or never; neither function looks at the rows.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fabricast {

/// Every n-th of the numbers 0 to count - 1, starting at 0, with the smallest n that leaves at most `most` of them.
/// One row more than `most` halves the list: 101 of at most 100 leave 51. Use `spread_over` if the number matters.
/// \pre most >= 1
inline std::vector<std::size_t> thinned(std::size_t count, std::size_t most) {
  const std::size_t every = std::max<std::size_t>(1, (count + most - 1) / most);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < count; i += every) kept.push_back(i);
  return kept;
}

/// Exactly `most` of the numbers 0 to count - 1, evenly spaced and including the first and the last; all of them if
/// there are no more than `most`. With most = 1, the first.
/// \pre most >= 1
inline std::vector<std::size_t> spread_over(std::size_t count, std::size_t most) {
  const std::size_t n = std::min(count, most);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < n; ++i) kept.push_back(n == 1 ? 0 : (i * (count - 1) + (n - 1) / 2) / (n - 1));
  return kept;
}

}  // namespace fabricast
