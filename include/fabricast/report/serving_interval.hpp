// 90 % intervals of inference: how far forecasts are off at sources that no fit has seen.
//
// Figures are forecast / factor to forecast x factor. The width is learned from published serving, each source left out of
// the fit in turn (`calibrate fit --serving --spread`); where nothing was measured on such a GPU or engine it is several
// times that. Samples of ECMP's hashes add their own spread.
#pragma once

#include "fabricast/report/inference.hpp"

namespace fabricast {

/// Standard deviations of ln(measured / forecast); a plain value.
struct ServingDeviations {
  double step = 0, wait = 0, all_reduce = 0;
};
/// \param apart  prompts have GPUs of their own
ServingDeviations serving_deviations(const ServingSpread& spread, bool experts, bool apart);

/// Of a scenario. \param samples  s of the step in each sample of the network
ServingFactors serving_factors(const World& world, const InferenceStep& step, const std::vector<double>& samples);

}  // namespace fabricast
