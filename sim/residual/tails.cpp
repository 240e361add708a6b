#include "fabricast/residual/tails.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast {

double share_slower(const Residual& residual, const std::vector<double>& draws, double time) {
  double sum = 0;
  for (const double draw : draws) sum += share_above(residual, residual.median + std::log(time / draw));
  return sum / static_cast<double>(draws.size());
}

double time_exceeded_by(const Residual& residual, const std::vector<double>& draws, double share) {
  // By symmetry of Student's t: 1 - share has no digits left for what is rare.
  const double out = std::exp(residual.median - residual.quantile(share));
  const auto [fastest, slowest] = std::minmax_element(draws.begin(), draws.end());
  if (*fastest == *slowest) return *slowest * out;
  double low = std::log(*fastest * out), high = std::log(*slowest * out);
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (share_slower(residual, draws, std::exp(middle)) > share ? low : high) = middle;
  }
  return std::exp(high);
}

}  // namespace fabricast
