// The test for late ranks: exact binomial tail.
#include "late.hpp"

#include <algorithm>
#include <cmath>

namespace fabricast::live {

double binomial_tail(std::int64_t n, std::int64_t k, double p) {
  if (k <= 0) return 1;
  const auto log_factorial = [](std::int64_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  const auto dn = static_cast<double>(n), dk = static_cast<double>(k);
  double term = std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) + dk * std::log(p) +
                         (dn - dk) * std::log1p(-p));
  double sum = 0;
  // Each term follows from the one before; beyond the mean they shrink.
  for (std::int64_t i = k; i <= n; ++i) {
    sum += term;
    if (i == n || (static_cast<double>(i) > dn * p && term < sum * 1e-12)) break;
    term *= static_cast<double>(n - i) / static_cast<double>(i + 1) * p / (1 - p);
  }
  return std::min(sum, 1.0);
}

bool later_than_chance(std::int64_t calls, std::int64_t late, double rate, double level) {
  // A rate of nearly 0 would take two late calls for a proof; above a half nobody is late by definition.
  constexpr double least_rate = 0.05, most_rate = 0.5;
  if (calls < least_judged || late * 2 <= calls) return false;
  return binomial_tail(calls, late, std::clamp(rate, least_rate, most_rate)) < level;
}

}  // namespace fabricast::live
