// Means over sources, each source counted once: shared by training steps and serving.
#pragma once

#include <vector>

namespace fabricast::published {

/// Averages the summaries that count and have a forecast. Without one, the mean has no sources.
/// \param mean    receives sources, rows, within, mean, median and bias; all 0 before
/// \param counts  (summary) -> whether it counts
template <class Mean, class Summary, class Counts>
void average(Mean& mean, const std::vector<Summary>& summaries, Counts counts) {
  for (const Summary& s : summaries) {
    if (s.forecast == 0 || !counts(s)) continue;
    ++mean.sources;
    mean.rows += s.forecast;
    mean.within += s.within;
    mean.mean += s.mean;
    mean.median += s.median;
    mean.bias += s.bias;
  }
  if (mean.sources == 0) return;
  const auto n = static_cast<double>(mean.sources);
  mean.mean /= n;
  mean.median /= n;
  mean.bias /= n;
}

}  // namespace fabricast::published
