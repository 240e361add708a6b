// The spread that applies to a published metric.
#pragma once

#include "fabricast/calibrate/published_serving.hpp"
#include "fabricast/report/serving_interval.hpp"

namespace fabricast {

/// The standard deviation of ln(measured / forecast) of a metric.
inline double deviation_of(const ServingDeviations& d, ServingMetric metric) {
  switch (metric) {
    case ServingMetric::ttft_ms:
    case ServingMetric::kv_transfer_ms: return d.wait;
    case ServingMetric::allreduce_us: return d.all_reduce;
    default: return d.step;
  }
}

}  // namespace fabricast
