// The forecast of inference: steps, requests, what a larger batch gives, and what prompts on GPUs of their own change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/report/step.hpp"
#include "fabricast/workload/inference.hpp"
#include "fabricast/workload/memory.hpp"

namespace fabricast {

/// One step, repeated for ever; s.
struct TimedPasses {
  double seconds = 0;
  std::vector<ActorTimes> stages;
  ActorTimes mean;  ///< over all GPUs; its parts add up to the step
  std::vector<CollectiveUse> collectives;
  Program program;
};

struct BatchRow {
  int batch = 0;  ///< of a replica
  double step = 0, tokens_per_second = 0;
  double memory = 0;  ///< B of a GPU
};

/// Over requests; s.
struct WaitTimes {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0;
};

/// What requests of a load see, and what the GPUs give.
struct Serving {
  double tokens_per_second = 0;   ///< of output, until the last request has ended
  WaitTimes first_token;          ///< from a request to its first token, with the queue
  WaitTimes inter_token;          ///< between tokens of a request, its mean
  WaitTimes request;              ///< from a request to its last token
  double inter_token_worst = 0;   ///< s: the longest gap between two tokens
  double inter_token_median = 0;  ///< s: over all tokens, whatever their request
  std::int64_t requests = 0;      ///< that were simulated
  double sequences = 0;           ///< of a replica that were decoded at once, mean over time
  double requests_per_second = 0;
};

/// 90 % intervals: figures are divided and multiplied by these (report/serving_interval.hpp).
struct ServingFactors {
  double step = 1;  ///< of passes, rates, times between tokens and of whole requests
  double wait = 1;  ///< of times to first tokens
};

struct DisaggregatedForecast {
  Serving serving;
  TimedPasses prompt;
  double decode = 0;  ///< s of a decode step beside hand-overs
  double decode_alone = 0;
  double transfer = 0;                       ///< s of a request's cache
  double exposed = 0;                        ///< s of it that prompts do not hide
  double bytes = 0;                          ///< of a request's cache, on the way
  double prefill_rate = 0, decode_rate = 0;  ///< requests/s of the GPUs for prompts, of those that decode
  double balanced_tokens = 0;                ///< 1/s of output, with as many GPUs for prompts as make both rates equal
  double balanced_gpus = 0;                  ///< for prompts, with which both rates are equal
  CollectiveUse collective;
};

struct InferenceForecast {
  TimedPasses step;  ///< of the phase; of both: the decode step
  std::int64_t gpus = 0;
  int samples = 1;
  double step_p5 = 0, step_p95 = 0, step_worst = 0;
  std::vector<double> sample_seconds;  ///< the step's, of every draw
  Bytes message{0};                  ///< of phase all_reduce
  double mfu = 0;                    ///< of the step
  double tokens_per_second = 0;
  std::vector<BatchRow> batches;  ///< of decoding
  MemoryUse memory;
  double capacity = 0;            ///< B of a GPU that are used
  bool near_the_limit = false;    ///< the engine has to be told to use more than it does by itself
  double prefill = 0;             ///< s of one prompt; 0: not asked for
  TimedPasses prompt;             ///< the same; empty where prompts have GPUs of their own, too
  std::optional<Serving> shared;  ///< prompts and decoding on the same GPUs
  std::optional<DisaggregatedForecast> disaggregated;
  ServingFactors factors;
  std::uint64_t fingerprint = 0;
};

/// \pre the workload is inference
InferenceStep inference_of(const World& world);

/// Whether the step fits in memory is not asked (require_memory).
/// \param batches  whether to forecast other batches, too
/// \throws UserError if the step does not fit together, Interrupted on Ctrl-C
InferenceForecast run_inference(const World& world, const RunOptions& options = {}, bool batches = true);

std::string inference_text(const World& world, const InferenceForecast& forecast);
std::string inference_json(const World& world, const InferenceForecast& forecast);
std::string inference_csv(const World& world, const InferenceForecast& forecast);

}  // namespace fabricast
