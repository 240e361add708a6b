// Requests of a scenario's load, and what they see.
#pragma once

#include "serving_sample.hpp"

namespace fabricast {

/// Prompts and decoding on the same GPUs. Replicas that share nothing are alike: one of them has its share of the load.
Serving serve_together(const World& world, const InferenceStep& step, const ServingSample& sample);
/// Prompts on GPUs of their own. \param slower  what decoding beside transfers of caches takes, relative to without
Serving serve_apart(const World& world, const InferenceStep& prompts, const CacheTransfer& transfer,
                    const InferenceStep& decoding, double slower, const ServingSample& sample);

}  // namespace fabricast
