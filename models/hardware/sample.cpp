// Samples of uncertain hardware: one value for each parameter, for intervals of forecasts.
#include <algorithm>
#include <cmath>

#include "fabricast/core/rng.hpp"
#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

namespace {

/// A sample of a parameter without a fit, from its interval. The value is log-normal, clamped to the 90 % interval so
/// that no fraction exceeds what is considered possible.
double from_interval(const Parameter& p, Rng& rng) {
  if (!(p.low > 0) || !(p.high > p.low)) return p.value;
  // The interval spans 2 x 1.645 standard deviations of ln(value).
  const double deviation = std::log(p.high / p.low) / (2 * quantile_95);
  return std::clamp(p.value * std::exp(deviation * rng.normal()), p.low, p.high);
}

}  // namespace

Hardware sampled_hardware(const Hardware& hardware, std::size_t sample) {
  Hardware sampled = hardware;
  for (const auto& [path, ref] : sampled.all_parameters()) {
    Parameter& p = *ref.parameter;
    // A generator for each parameter and sample, so that a new parameter does not change the values of the others. A
    // fit has joint samples of its parameters, which keep their correlation: index `sample` selects the same joint
    // sample for all.
    Rng rng(hash_of(path, sample));
    p.value = p.samples.empty() ? from_interval(p, rng) : p.samples[sample % p.samples.size()];
  }
  return sampled;
}

}  // namespace fabricast
