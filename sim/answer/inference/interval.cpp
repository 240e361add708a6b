// The 90 % factors of inference forecasts: factor = exp(1.645 sqrt((u d)^2 + h^2)), with d learned from held-out
// published serving, u for unvalidated cases and h from ECMP samples (report/serving_interval.hpp).
//
// Unlike for collectives (residual/residual.hpp), there are no correlations between rows: each kind of figure has one
// deviation.
#include "fabricast/report/serving_interval.hpp"

#include <cmath>

#include "fabricast/report/validated.hpp"

namespace fabricast {

namespace {

/// Standard deviation of the logarithms of the samples; 0 for a single sample.
double deviation_of(const std::vector<Seconds>& samples) {
  const double n = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (const Seconds t : samples) {
    const double log = std::log(t.value);
    sum += log;
    squares += log * log;
  }
  return samples.size() < 2 ? 0 : std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
}

}  // namespace

// MoE models have deviations of their own, learned from MoE rows. For TTFT, disaggregated prefill decides first: its
// waits contain the KV-cache transfer.
ServingDeviations serving_deviations(const ServingSpread& spread, bool experts, bool apart) {
  ServingDeviations d;
  d.step = (experts ? spread.step_experts : spread.step).value;
  d.wait = (apart ? spread.wait_apart : experts ? spread.wait_experts : spread.wait).value;
  d.all_reduce = spread.all_reduce.value;
  return d;
}

ServingFactors serving_factors(const World& world, const InferenceStep& step, const std::vector<Seconds>& samples) {
  const Scenario& s = world.scenario();
  const InferenceSpec& spec = s.workload.inference;
  const ServingDeviations d =
      serving_deviations(s.hardware->serving_spread, step.model.experts > 0, spec.disaggregated.prefill.gpus > 0);
  const double times = not_validated(world.scenario()).empty() ? 1 : s.hardware->serving_spread.unvalidated.value;
  // Both errors are independent and act on the logarithm of the time, so they add in squares.
  const double of_hash = deviation_of(samples);
  const auto factor = [&](double deviation) { return std::exp(quantile_95 * std::hypot(times * deviation, of_hash)); };
  ServingFactors factors;
  factors.step = factor(spec.phase == InferencePhase::all_reduce ? d.all_reduce : d.step);
  factors.wait = factor(d.wait);
  return factors;
}

}  // namespace fabricast
