// Moments of the stall of a flap (flaps.hpp), with the length L log-normal: ln L normal around ln median, with standard
// deviation `spread`. Month sampling needs the mean for the expected loss and the mean square for its variance.
#include "flaps.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fabricast {

namespace {

double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// Fraction of flaps that last at most `seconds`.
double shorter(const FlapSpec& spec, double seconds) {
  if (spec.spread == 0) return seconds >= spec.median.value ? 1 : 0;
  return normal_below(std::log(seconds / spec.median.value) / spec.spread);
}

/// Mean of min(L, limit)^k. The contribution below the limit is a partial moment of the log-normal distribution.
///
///     E[min(L, c)^k] = median^k e^(k^2 s^2 / 2) Phi(z - k s) + c^k Phi(-z),     z = ln(c / median) / s
double capped_moment(const FlapSpec& spec, double limit, int k) {
  if (limit <= 0) return 0;
  if (spec.spread == 0) return std::pow(std::min(spec.median.value, limit), k);
  const double z = std::log(limit / spec.median.value) / spec.spread, whole = k * spec.spread;
  const double below = std::pow(spec.median.value, k) * std::exp(whole * whole / 2) * normal_below(z - whole);
  return below + std::pow(limit, k) * normal_below(-z);
}

}  // namespace

FlapMoments flap_moments(const FlapSpec& spec, const Transport& transport, double reroute) {
  const double window = transport.window, timeout = transport.timeout;
  // Traffic takes another path before the transport gives up. No flap stops the job.
  if (reroute <= window) return {0, capped_moment(spec, reroute, 1), capped_moment(spec, reroute, 2)};
  FlapMoments m;
  m.stops = 1 - (window > 0 ? shorter(spec, window) : 0);
  // Moments are those of flaps that are survived, so probabilities are divided by their fraction.
  const double ridden = 1 - m.stops;
  if (ridden <= 0) return m;
  const int retries = static_cast<int>(std::lround(window / timeout));
  double before = 0;
  // The stall is a whole number of timeouts: it ends with the first retry after the flap has ended.
  for (int retry = 1; retry <= retries; ++retry) {
    const double until = shorter(spec, retry * timeout), part = (until - before) / ridden;
    m.stall += part * retry * timeout;
    m.square += part * std::pow(retry * timeout, 2);
    before = until;
  }
  return m;
}

}  // namespace fabricast
