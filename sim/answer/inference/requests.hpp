// Simulates the load of a scenario: waiting times and throughput of requests.
#pragma once

#include "sample.hpp"

namespace fabricast {

/// Prompts and decoding on the same GPUs. Only replicas that share experts are simulated together, with their share of
/// the load; all such groups behave alike.
Serving serve_together(const World& world, const InferenceStep& step, const ServingSample& sample);
/// Disaggregated serving: prompts on GPUs of their own.
/// \param slower  factor on the time of decode steps because of concurrent KV-cache transfers
Serving serve_apart(const World& world, const InferenceStep& prompts, const CacheTransfer& transfer,
                    const InferenceStep& decoding, double slower, const ServingSample& sample);

}  // namespace fabricast
