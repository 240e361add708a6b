// The forecast of inference: the time of a step, requests under load, larger batches, and disaggregated prefill.
//
//   phase decode      the step gives each sequence of the batch its next token (several with speculation)
//   phase prefill     the step processes the prompts of the whole batch
//   phase both        a decode step, and the load of the scenario simulated pass by pass (workload/serving_load.hpp)
//   phase all_reduce  the step is one all-reduce of tensor parallelism
//
// Only the step is repeated for every sample of the network. Everything else is computed on the sample with the median
// step time. docs/models/inference.md has the model and its validation.
//
// Rates are of all replicas together. Results do not depend on the number of threads. The functions only read the World
// and may run concurrently on one World.
//
// Not modelled: eviction of KV caches as such, routers that consider caches, and context parallelism.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/report/step.hpp"
#include "fabricast/workload/inference.hpp"
#include "fabricast/workload/memory.hpp"

namespace fabricast {

/// The all-reduces that the engine runs as kernels instead of calling NCCL (workload/own_all_reduce.hpp), of a rank of
/// the stage where they take longest.
struct OwnAllReduces {
  double calls = 0;
  Seconds time;  ///< of all calls, including the wait for the slowest rank
};

/// A step or a prompt of an engine. Decode steps of a pipeline are in steady state: their times are the increment of
/// one further round of passes.
struct TimedPasses {
  Seconds time;
  std::vector<ActorTimes> stages;          ///< one per pipeline stage
  ActorTimes mean;                         ///< over all GPUs; its components add up to `time`
  std::vector<CollectiveUse> collectives;  ///< those of NCCL
  OwnAllReduces own;
  Program program;
};

/// Decoding with another batch.
struct BatchRow {
  int batch = 0;  ///< per replica
  Seconds step;
  double tokens_per_second = 0;
  Bytes memory;  ///< per GPU
};

/// The distribution of a waiting time over requests.
struct WaitTimes {
  Seconds mean, p50, p90, p99;
};

/// Requests under the scenario's load.
struct Serving {
  double tokens_per_second = 0;  ///< output tokens divided by the time until the last request has ended
  WaitTimes first_token;         ///< TTFT: from a request to its first token, queueing included
  WaitTimes inter_token;         ///< TPOT: mean time between the tokens of a request
  WaitTimes request;             ///< from a request to its last token
  Seconds inter_token_worst;     ///< longest gap between two tokens of a request
  Seconds inter_token_median;    ///< median gap over all tokens, whatever their request
  std::int64_t requests = 0;     ///< simulated requests, including those of the warm-up
  double sequences = 0;          ///< decoded concurrently per replica, mean over time
  double requests_per_second = 0;
  bool queue_grows = false;  ///< more requests arrive than are served, so waits depend on the number of requests
};

/// 90 % intervals: from a figure divided by its factor to the figure times the factor (report/serving_interval.hpp).
struct ServingFactors {
  double step = 1;  ///< for steps, rates, times between tokens and times of whole requests
  double wait = 1;  ///< for times to the first token
};

/// Disaggregated serving: prefill GPUs process prompts and send the KV cache to decode GPUs.
struct DisaggregatedForecast {
  Serving serving;
  TimedPasses prompt;          ///< one prompt on the prefill GPUs
  Seconds decode;              ///< of a decode step, with the average overlap with KV-cache transfers
  Seconds decode_alone;        ///< of a decode step without transfers
  Seconds transfer;            ///< of the KV-cache transfer of one request, concurrent with a decode step
  Seconds exposed;             ///< part of `transfer` that remains after the prompt has been computed
  Bytes bytes;                 ///< KV cache of one request that is sent
  double prefill_rate = 0;     ///< requests/s that prefill GPUs and KV-cache transfers sustain
  double decode_rate = 0;      ///< requests/s that the decode GPUs sustain
  double balanced_tokens = 0;  ///< output tokens/s of all GPUs if they were divided so that both rates are equal
  double balanced_gpus = 0;    ///< prefill GPUs of that division; may be fractional
  CollectiveUse collective;    ///< the KV-cache transfer
  KvTransfer sent;             ///< what it consists of
};

/// One prompt whose cached prefix is loaded from host memory or drives instead of being computed.
struct PrefixForecast {
  std::int64_t tokens = 0;  ///< of the prefix
  Bytes bytes;              ///< that all ranks of a replica load
  Seconds load;             ///< of the prefix, before the rest is computed
  Seconds rest;             ///< of the rest of the prompt
  Seconds computed;         ///< of the whole prompt, if nothing were cached
  std::string bottleneck;   ///< of the load: a link inside the node, or `drives`
  /// From the prompt to its first token, without waits.
  Seconds first_token() const { return load + rest; }
};

/// The forecast of an inference scenario.
struct InferenceForecast {
  World world;       ///< what is forecast
  TimedPasses step;  ///< of the median sample
  std::int64_t gpus = 0;
  int samples = 1;
  Seconds step_p5, step_p95, step_worst;
  std::vector<Seconds> sample_times;     ///< the step in each sample
  Bytes message{0};                      ///< for phase all_reduce
  double mfu = 0;                        ///< model FLOPs of the step relative to the peak of its precision
  double tokens_per_second = 0;          ///< output tokens; for phase prefill, prompt tokens
  std::vector<BatchRow> batches;         ///< powers of two that fit in memory, and the scenario's batch; if decoding
  MemoryUse memory;                      ///< of a GPU, with the scenario's batch
  Bytes capacity;                        ///< of a GPU's memory that the engine uses
  bool near_the_limit = false;           ///< the engine must be configured to use more memory than by default
  Seconds prefill;                       ///< of one prompt; 0 for phases decode and all_reduce
  TimedPasses prompt;                    ///< the same with its breakdown; also empty if prefill is disaggregated
  std::optional<Serving> shared;         ///< phase both: prompts and decoding share all GPUs
  std::optional<PrefixForecast> prefix;  ///< phases prefill and both, with cached prefixes outside the GPUs
  std::optional<DisaggregatedForecast> disaggregated;  ///< phase both with prefill GPUs
  ServingFactors factors;
  std::uint64_t fingerprint = 0;  ///< hash of the step in all samples and of the main rates
  /// How requests are served: with disaggregated prefill where that is asked for, else on shared GPUs. Null for a single
  /// phase.
  const Serving* serving() const { return disaggregated ? &disaggregated->serving : shared ? &*shared : nullptr; }
};

/// The step of the scenario. For phase both its batch is reduced to what fits in memory; further requests wait.
/// \pre the workload is inference
InferenceStep inference_of(const World& world);

/// Forecasts the scenario. Does not check whether the step fits in memory (require_memory).
/// \param batches  whether to also forecast other batches
/// \pre the workload is inference
/// \throws UserError if the network cannot carry the step's collectives; Interrupted on Ctrl-C
InferenceForecast run_inference(const World& world, const RunOptions& options = {}, bool batches = true);

/// The forecast as text for people.
std::string inference_text(const InferenceForecast& forecast);
/// The forecast as JSON (docs/formats.md).
std::string inference_json(const InferenceForecast& forecast);
/// The batches as CSV; without batches, the breakdown of the step.
std::string inference_csv(const InferenceForecast& forecast);

}  // namespace fabricast
