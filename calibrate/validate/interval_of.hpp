// The interval of a statistic over systems.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "fabricast/calibrate/validate.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

/// 5 and 95 % of the statistic of samples drawn from the values, with replacement. None below five values: more often than
/// in 10 % all of them are on one side of what they are drawn from.
template <class Statistic>
std::optional<MedianInterval> interval_of(const std::vector<double>& values, Statistic statistic) {
  constexpr std::size_t replicates = 2000, fewest = 5;
  if (values.size() < fewest) return std::nullopt;
  Rng rng(1);
  std::vector<double> found;
  for (std::size_t r = 0; r < replicates; ++r) {
    std::vector<double> sample;
    for (std::size_t i = 0; i < values.size(); ++i) sample.push_back(values[rng.below(values.size())]);
    found.push_back(statistic(sample));
  }
  std::sort(found.begin(), found.end());
  return MedianInterval{found[replicates / 20], found[replicates - 1 - replicates / 20]};
}

}  // namespace fabricast
