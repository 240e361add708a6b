#include "fabricast/residual/tails.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

double share_slower(const Residual& residual, const std::vector<double>& samples, double time) {
  double sum = 0;
  for (const double sample : samples) sum += share_above(residual, residual.median + std::log(time / sample));
  return sum / static_cast<double>(samples.size());
}

double time_exceeded_by(const Residual& residual, const std::vector<double>& samples, double share) {
  // The symmetry of Student's t avoids the quantile of 1 - share, which has no digits left for small shares.
  const double out = std::exp(residual.median - residual.quantile(share));
  const auto [fastest, slowest] = std::minmax_element(samples.begin(), samples.end());
  if (*fastest == *slowest) return *slowest * out;
  double low = std::log(*fastest * out), high = std::log(*slowest * out);
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (share_slower(residual, samples, std::exp(middle)) > share ? low : high) = middle;
  }
  return std::exp(high);
}

}  // namespace fabricast
