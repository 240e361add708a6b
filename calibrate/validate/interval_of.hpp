// Bootstrap intervals of statistics over systems.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "fabricast/calibrate/validate.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

/// The 5th and 95th percentile of a statistic over bootstrap replicates: samples of the values with replacement
/// [Efron1993]. Null below five values: with a probability above 10 %, all of them are then on one side of the median
/// of their population. Deterministic.
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
