#include "flaps.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fabricast {

namespace {

/// Part of the flaps that are no longer than `seconds`.
double shorter(const FlapSpec& spec, double seconds) {
  if (spec.spread == 0) return seconds >= spec.median.value ? 1 : 0;
  const double z = std::log(seconds / spec.median.value) / spec.spread;
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

}  // namespace

FlapMoments flap_moments(const FlapSpec& spec, const Transport& transport, double reroute) {
  const double window = transport.window, timeout = transport.timeout;
  FlapMoments m;
  m.stops = reroute <= window ? 0 : 1 - (window > 0 ? shorter(spec, window) : 0);
  const double ridden = 1 - m.stops;
  if (ridden <= 0) return m;
  const int retries = static_cast<int>(std::lround(window / timeout));
  double before = 0;
  for (int retry = 1; retry <= retries; ++retry) {
    // Whatever lasts longer has been routed around by this retry.
    const bool around = reroute <= retry * timeout;
    const double until = around ? 1 : shorter(spec, retry * timeout), part = (until - before) / ridden;
    m.stall += part * retry * timeout, m.square += part * std::pow(retry * timeout, 2);
    before = until;
    if (around) break;
  }
  return m;
}

}  // namespace fabricast
