// Tails of the mixture over samples of the network (residual/tails.hpp): each sample is equally likely and shifts the
// same Student t.
#include "fabricast/residual/tails.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

double share_slower(const Residual& residual, const std::vector<Seconds>& samples, Seconds time) {
  double sum = 0;
  for (const Seconds sample : samples) sum += share_above(residual, residual.median + std::log(time / sample));
  return sum / static_cast<double>(samples.size());
}

Seconds time_exceeded_by(const Residual& residual, const std::vector<Seconds>& samples, double share) {
  // The symmetry of Student's t avoids the quantile of 1 - share, which has no digits left for small shares.
  const double out = std::exp(residual.median - residual.quantile(share));
  const auto [fastest, slowest] = std::minmax_element(samples.begin(), samples.end());
  // One sample, or none that differs: the quantile is known in closed form.
  if (*fastest == *slowest) return *slowest * out;
  // The quantile of a mixture lies between those of its fastest and slowest component. 60 halvings reach the resolution
  // of a double.
  double low = std::log((*fastest * out).value), high = std::log((*slowest * out).value);
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (share_slower(residual, samples, Seconds{std::exp(middle)}) > share ? low : high) = middle;
  }
  // The upper end, so that the probability is `share` at most.
  return Seconds{std::exp(high)};
}

}  // namespace fabricast
