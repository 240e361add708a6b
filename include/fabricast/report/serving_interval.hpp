// 90 % intervals of inference forecasts.
//
// A figure lies between forecast / factor and forecast x factor with a probability of 90 %:
//
//   factor = exp(1.645 sqrt((u d)^2 + h^2))
//
//   d   standard deviation of ln(measured / forecast), learned from published serving results that were held out of the
//       fit source by source (`calibrate fit --serving --spread`)
//   u   1; if nothing was measured on such a GPU or engine (report/validated.hpp), ServingSpread::unvalidated
//   h   standard deviation of ln(step) over the samples of ECMP hashes
//
// Pure functions; safe to call concurrently.
#pragma once

#include "fabricast/report/inference.hpp"

namespace fabricast {

/// The d of the file comment, for steps and rates, for times to the first token, and for a single all-reduce.
struct ServingDeviations {
  double step = 0, wait = 0, all_reduce = 0;
};
/// \param experts  whether it is an MoE model
/// \param apart    whether prefill is disaggregated
ServingDeviations serving_deviations(const ServingSpread& spread, bool experts, bool apart);

/// The factors of a scenario.
/// \param samples  time of the step in each sample of the network, s; must be positive
ServingFactors serving_factors(const World& world, const InferenceStep& step, const std::vector<Seconds>& samples);

}  // namespace fabricast
