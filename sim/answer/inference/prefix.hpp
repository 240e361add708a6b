// Cached prefixes of prompts that lie in host memory or on drives: what loading them costs, and what it saves.
#pragma once

#include "sample.hpp"

namespace fabricast {

/// How fast the GPUs of a replica load a cache from outside their memory, all at once.
struct CacheLoad {
  BytesPerSecond rate;     ///< of the slowest GPU
  std::string bottleneck;  ///< a link inside the node, or `drives`
};
/// \param ranks   neighbouring GPUs of a replica on its first node
/// \param drives  rate of a host's drives; 0: the cache lies in host memory
CacheLoad cache_load(const Node& node, int ranks, BytesPerSecond drives);

/// One prompt with its prefix loaded. Nothing if no prompt has a prefix, or if it lies in the GPUs' memory.
/// \param prompts   the step that processes prompts
/// \param computed  time of a whole prompt
std::optional<PrefixForecast> prefix_forecast(const World& world, const InferenceStep& prompts, Seconds computed,
                                              const ServingSample& sample);
/// Time to load a token of a prefix; 0 if it lies in the GPUs' memory.
Seconds load_per_token(const World& world, const InferenceStep& prompts);

}  // namespace fabricast
