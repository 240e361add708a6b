// Adaptive repeats, and the confidence interval of a median.
#include <algorithm>
#include <cmath>

#include "fabricast/calibrate/probe.hpp"

namespace fabricast {

SampleSet summarise(std::vector<Seconds> samples) {
  SampleSet set;
  set.samples = std::move(samples);
  if (set.samples.empty()) return set;
  std::vector<double> sorted;
  for (const Seconds s : set.samples) sorted.push_back(s.value);
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  set.median = {n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2};
  // The number of samples below the true median is binomial, as for n fair coins: mean n/2, standard deviation
  // sqrt(n)/2. Its normal quantile 1.96 with a continuity correction of half a sample gives the order statistics. Below
  // six samples even the minimum and the maximum enclose the median with less than 95 %.
  const double below = (static_cast<double>(n) - 1) / 2 - 0.98 * std::sqrt(static_cast<double>(n));
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(below)));
  set.low = {sorted[low]};
  set.high = {sorted[n - 1 - low]};
  return set;
}

SampleSet repeat_until_tight(const std::function<std::vector<Seconds>(int)>& run, const Repeats& repeats, Seconds share,
                             const std::function<Seconds()>& now) {
  const Seconds begin = now();
  std::vector<Seconds> samples;
  try {
    // Warm-up of caches, congestion windows and CPU clocks. Its sample is discarded.
    run(1);
    Seconds before = now();
    int round = 1;
    while (true) {
      const auto fresh = run(round);
      samples.insert(samples.end(), fresh.begin(), fresh.end());
      SampleSet set = summarise(samples);
      const int count = static_cast<int>(samples.size());
      const bool tight =
          count >= repeats.least && (set.high - set.low).value <= 2 * repeats.tightness * set.median.value;
      const Seconds time = now(), each = (time - before) / round;
      if (tight || count >= repeats.most || time - begin >= share) return set;
      before = time;
      // Twice as many, limited by the time of a round and by the time that is left.
      const double fit = std::min(repeats.round, share - (time - begin)) / std::max(each, Seconds{1e-9});
      round = std::clamp(static_cast<int>(std::min(fit, 1e6)), 1, std::min(2 * round, repeats.most - count));
    }
  } catch (const ProbeFailure& e) {
    SampleSet set = summarise(samples);
    set.error = e.what();
    return set;
  }
}

}  // namespace fabricast
