// All changes that `explain` tries on an inference step. Each line of the table at the end is a kind of change; changes
// of network and nodes are in network_trials.
//
// A change is a list of `--set` words. Changes of one list are alternatives, of which the best is reported; lists of
// one are reported by themselves. Conditions here only avoid pointless trials: a change that the scenario does not
// accept is skipped when it is tried (run_trials), so conditions need not be complete.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "../step/step_time.hpp"
#include "../step/trials.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/inference_advice.hpp"

namespace fabricast {

namespace {

/// What changes are derived from.
struct InferenceGround {
  const World& world;
  const InferenceForecast& forecast;
  const InferenceSpec& spec;
  // The batch is what fits in memory, as in the forecast.
  const InferenceStep step;
  bool apart() const { return spec.disaggregated.prefill.gpus > 0; }
  bool decodes() const { return spec.phase != InferencePhase::prefill; }
  // All GPUs of the job; with disaggregated prefill, both kinds together.
  std::int64_t gpus() const { return std::int64_t{world.scenario().cluster.nodes} * world.scenario().node.spec.gpus; }
};
using G = const InferenceGround&;

constexpr auto one = one_if<Trial>;

template <class T>
std::string key(std::string_view name, const T& value) {
  return fmt::format("workload.{}={}", name, value);
}

// Paths of the degrees below `workload`.
constexpr std::string_view decoding = "parallel", prompting = "disaggregated.prefill.parallel";

/// The `--set` words that split `gpus` GPUs by the degrees of `then`, with as many replicas as result. Empty if the
/// degrees do not divide the GPUs, or if nothing changes.
std::vector<std::string> split_words(std::string_view path, const ServingParallel& now, ServingParallel then,
                                     std::int64_t gpus) {
  const std::int64_t replica = std::int64_t{then.tensor} * then.pipeline;
  if (gpus < replica || gpus % replica != 0) return {};
  then.data = static_cast<int>(gpus / replica);
  // The ranks of a stage share its experts.
  then.expert = static_cast<int>(std::gcd(std::int64_t{then.expert}, std::int64_t{then.tensor} * then.data));
  std::vector<std::string> set;
  // Only what differs is set, so the words that a report shows are the change and nothing else.
  const auto say = [&](std::string_view name, int degree, int before) {
    if (degree != before) set.push_back(key(fmt::format("{}.{}", path, name), degree));
  };
  say("tensor", then.tensor, now.tensor);
  say("pipeline", then.pipeline, now.pipeline);
  say("data", then.data, now.data);
  say("expert", then.expert, now.expert);
  return set;
}

/// Degrees twice or half as large, compensated by the number of replicas. Each change is reported by itself.
void add_degrees(std::string_view path, const ServingParallel& now, std::int64_t gpus, std::string_view whose,
                 std::vector<Alternatives>& all) {
  if (now.expert_tensor > 0) return;  // a stated expert_tensor fits the stated degrees only
  for (int ServingParallel::*degree : {&ServingParallel::tensor, &ServingParallel::pipeline, &ServingParallel::expert})
    for (const bool more : {true, false}) {
      if (!more && now.*degree % 2 != 0) continue;
      ServingParallel then = now;
      then.*degree = more ? 2 * now.*degree : now.*degree / 2;
      const bool experts = degree == &ServingParallel::expert;
      std::vector<std::string> set = split_words(path, now, then, gpus);
      if (set.empty()) continue;
      std::string what = experts ? fmt::format("experts over {} ranks", then.expert)
                                 : fmt::format("tensor {} x pipeline {} x {} replicas", then.tensor, then.pipeline,
                                               gpus / then.tensor / then.pipeline);
      all.push_back({{what.append(whose), std::move(set)}});
    }
}

std::vector<Alternatives> splits(G g) {
  std::vector<Alternatives> all;
  const int prompts = g.spec.disaggregated.prefill.gpus;
  add_degrees(decoding, g.spec.parallel, g.gpus() - prompts, g.apart() ? ", decode" : "", all);
  if (g.apart()) add_degrees(prompting, g.spec.disaggregated.prefill.parallel, prompts, ", prefill", all);
  return all;
}

/// The two whole numbers of prefill replicas around the one that would make both rates equal.
Alternatives prompt_gpus(G g) {
  Alternatives list;
  if (!g.forecast.disaggregated) return list;
  const DisaggregatedSpec& d = g.spec.disaggregated;
  const ServingParallel &p = d.prefill.parallel, &now = g.spec.parallel;
  const double replica = static_cast<double>(p.tensor) * p.pipeline;
  const double balanced = g.forecast.disaggregated->balanced_gpus / replica;
  for (const double replicas : {std::floor(balanced), std::ceil(balanced)}) {
    const auto gpus = static_cast<std::int64_t>(replicas * replica);
    if (gpus <= 0 || gpus >= g.gpus() || gpus == d.prefill.gpus) continue;
    std::vector<std::string> set{key("disaggregated.prefill.gpus", gpus)};
    // Both halves must divide into replicas of the same degrees. If one does not, this number of GPUs is no option.
    for (const std::vector<std::string>& words :
         {split_words(prompting, p, p, gpus), split_words(decoding, now, now, g.gpus() - gpus)}) {
      if (words.empty()) set.clear();
      if (!set.empty()) set.insert(set.end(), words.begin(), words.end());
    }
    if (!set.empty()) list.push_back({fmt::format("{} prefill GPUs", gpus), std::move(set)});
  }
  return list;
}

/// Chunked prefill with other chunk sizes, or prompts in passes of their own.
Alternatives chunks(G g) {
  Alternatives list;
  if (g.spec.phase != InferencePhase::both || g.apart()) return list;
  for (const std::int64_t chunk : {256, 512, 1024, 2048, 4096, 8192})
    // A chunk longer than the prompt cuts nothing. Since a pass may hold several prompts, it would not be the same as
    // no chunks, but the gain ends there.
    if (chunk != g.spec.chunk && chunk <= std::max(g.spec.input, std::int64_t{256})) {
      std::vector<std::string> set{key("chunk", chunk)};
      if (g.spec.scheduler.tokens > 0) set.push_back(key("scheduler.tokens", 0));
      list.push_back({fmt::format("prompts in chunks of {} with decoding", chunk), std::move(set)});
    }
  if (g.spec.chunk > 0) list.push_back({"prompts in separate passes", {key("chunk", 0)}});
  return list;
}

/// KV-cache transfer by GPUDirect RDMA instead of through host memory.
Alternatives direct_kv_transfer(G g) {
  if (!g.apart() || g.spec.disaggregated.transfer != TransferPath::host) return {};
  std::vector<std::string> set{key("disaggregated.transfer", "rdma")};
  if (g.world.scenario().node.spec.gdr == Gdr::off) set.emplace_back("node.gdr=true");
  return {{"KV-cache transfer by rdma", std::move(set)}};
}

// What a rack-scale system would gain, with one NVLink domain over all nodes. 72 GPUs is the domain of an NVL72 rack.
Alternatives nvlink_kv_transfer(G g) {
  const Scenario& s = g.world.scenario();
  constexpr int largest_domain = 72;  // GPUs
  return one(g.apart() && g.spec.disaggregated.transfer != TransferPath::nvlink &&
                 s.node.spec.intranode == Intranode::nvswitch && g.gpus() <= largest_domain,
             "KV-cache transfer by nvlink, in one domain",
             {key("disaggregated.transfer", "nvlink"), fmt::format("nvlink_domain.nodes={}", s.cluster.nodes)});
}

/// Longer blocks, and so fewer descriptors, if the host's time to post these is longer than the transfer.
Alternatives longer_blocks(G g) {
  constexpr std::int64_t longest = 256;  // tokens
  const std::int64_t block = 4 * g.spec.kv_cache.block;
  const bool posts = g.forecast.disaggregated && g.forecast.disaggregated->sent.direct &&
                     g.forecast.disaggregated->sent.posting >= g.forecast.disaggregated->transfer / 2;
  return one(posts && block <= longest, fmt::format("KV cache in blocks of {} tokens", block),
             {key("kv_cache.block", block)});
}

using Kind = Alternatives (*)(const InferenceGround&);

// The order is that of docs/models/inference.md. It does not affect the result, which is sorted by gain.
constexpr Kind kinds[] = {
    [](G g) {
      return one(g.decodes() && g.spec.launch == PassLaunch::eager, "decode passes as CUDA graphs",
                 {key("launch", "graph")});
    },
    [](G g) {
      return one(!g.spec.overlap && !g.forecast.step.collectives.empty(), "overlapped halves of a pass",
                 {key("overlap", true)});
    },
    [](G g) { return one(g.spec.overlap, "whole passes", {key("overlap", false)}); },
    [](G g) {
      // Weights in memory may have fewer bits than GEMMs, never more. A stated 16-bit precision of weights would be
      // refused with fp8 GEMMs, so it becomes automatic.
      std::vector<std::string> set{key("precision", "fp8")};
      if (bytes_of(g.step.linear.weights) > 1 && g.spec.weight_precision != WeightChoice::automatic)
        set.push_back(key("weight_precision", "auto"));
      return one(g.step.kernels.has(Precision::fp8) && bytes_of(g.spec.precision) > 1, "linear layers in fp8",
                 std::move(set));
    },
    [](G g) { return one(bytes_of(g.step.cache) > 1, "KV cache in fp8", {key("cache_precision", "fp8")}); },
    [](G g) {
      // Always tried: a decode step is mostly bound by reading weights, so a larger batch nearly always gives more
      // tokens per second, for a longer step.
      return one(true, fmt::format("batch {} per replica", 2 * g.spec.batch), {key("batch", 2 * g.spec.batch)});
    },
    chunks,
    [](G g) { return one(g.spec.imbalance > 1, "balanced experts", {key("imbalance", 1)}); },
    direct_kv_transfer,
    nvlink_kv_transfer,
    [](G g) {
      return one(g.apart() && g.spec.disaggregated.stream != KvStream::layers, "KV cache sent while prompts compute",
                 {key("disaggregated.stream", true)});
    },
    longer_blocks,
    prompt_gpus,
};

}  // namespace

std::vector<Alternatives> inference_trials(const InferenceForecast& forecast) {
  const World& world = forecast.world;
  const InferenceGround ground{world, forecast, world.scenario().workload.inference, inference_of(world)};
  std::vector<Alternatives> all = trials_of(kinds, ground);
  for (const std::vector<Alternatives>& more :
       {nccl_trials(world, step_time_of(forecast)), network_trials(world), splits(ground)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace fabricast
