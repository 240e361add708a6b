// Loads of cached prefixes (prefix.hpp).
//
//     rate  = min over links l on the paths from memory to the GPUs  of  rate of l / GPUs whose path crosses l,
//             at most  rate of the drives / GPUs of the host                                                         (1)
//     load  = bytes that a rank holds of the prefix / rate
//
// A GPU reads the memory of its own socket, over PCIe or C2C. The path is that of NodeGraph, so PCIe switches and the
// memory are shared by the GPUs below them.
#include "prefix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace fabricast {

CacheLoad cache_load(const Node& node, int ranks, BytesPerSecond drives) {
  const NodeGraph& graph = node.graph;
  const int gpus = std::min(ranks, graph.gpus);
  std::vector<std::vector<std::uint16_t>> paths;
  std::map<std::uint16_t, int> users;
  for (int g = 0; g < gpus; ++g) {
    paths.push_back(graph.path(graph.memory_of_gpu(g), graph.gpu(g), false));
    for (const std::uint16_t link : paths.back()) ++users[link];
  }
  CacheLoad load{BytesPerSecond{std::numeric_limits<double>::infinity()}, {}};
  for (const auto& [link, count] : users) {
    const BytesPerSecond share = graph.links[link].link_class.rate / count;
    if (share >= load.rate) continue;
    load = {share, graph.link_name(link)};
  }
  if (drives.value > 0) {
    const int of_host = std::max(1, std::min(gpus, graph.gpus / std::max(1, node.hosts)));
    if (const BytesPerSecond share = drives / of_host; share < load.rate) load = {share, "drives"};
  }
  return load;
}

static CacheLoad load_of(const World& world, const InferenceStep& prompts) {
  const KvCacheSpec& kv = world.scenario().workload.inference.kv_cache;
  const int ranks = prompts.layout.tensor * prompts.layout.pipeline;
  return cache_load(world.planner().comm.node, ranks, kv.tier == CacheTier::ssd ? kv.drives : BytesPerSecond{});
}

Seconds load_per_token(const World& world, const InferenceStep& prompts) {
  if (world.scenario().workload.inference.kv_cache.tier == CacheTier::hbm) return {};
  // Bytes of a token may be a fraction, so those of many tokens are divided.
  constexpr std::int64_t tokens = 1 << 20;
  return cache_of_rank(prompts, tokens) / load_of(world, prompts).rate / static_cast<double>(tokens);
}

std::optional<PrefixForecast> prefix_forecast(const World& world, const InferenceStep& prompts, Seconds computed,
                                              const ServingSample& sample) {
  const InferenceSpec& spec = world.scenario().workload.inference;
  PrefixForecast f;
  // As in sampled_load: the last token of a prompt is always computed.
  f.tokens =
      std::min<std::int64_t>(prompts.input - 1, std::llround(spec.load.cached * static_cast<double>(prompts.input)));
  if (f.tokens <= 0 || spec.kv_cache.tier == CacheTier::hbm) return std::nullopt;
  const CacheLoad load = load_of(world, prompts);
  const Bytes of_rank = cache_of_rank(prompts, f.tokens);
  f.bytes = of_rank * prompts.layout.tensor * prompts.layout.pipeline;
  f.load = of_rank / load.rate;
  f.rest = sample.once(prompts, prefill_passes(prompts, 1, f.tokens), false).time;
  f.computed = computed;
  f.bottleneck = load.bottleneck;
  return f;
}

}  // namespace fabricast
