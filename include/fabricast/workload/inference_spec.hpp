// The scenario section of inference: `workload: {kind: inference, ...}`.
//
// What is `auto`, 0 or empty is filled in from the serving engine and the size of the job, and shown so.
#pragma once

#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/workload/inference.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "fabricast/workload/serving_load.hpp"

namespace fabricast {

/// A decode step, a batch of prompts, requests from end to end, or one all-reduce of tensor parallelism.
enum class InferencePhase { decode, prefill, both, all_reduce };
template <>
struct EnumNames<InferencePhase> {
  static constexpr std::array<std::string_view, 4> names{"decode", "prefill", "both", "all_reduce"};
};

/// Whether prompts have passes of their own or go into passes that decode; automatic: as the engine has it.
enum class Batching { automatic, prompts_first, mixed };
template <>
struct EnumNames<Batching> {
  static constexpr std::array<std::string_view, 3> names{"auto", "prompts_first", "mixed"};
};

/// What reduces inside an NVLink domain: the engine's own kernel or NCCL; automatic: as the engine does.
enum class AllReduceBy { automatic, own, nccl };
template <>
struct EnumNames<AllReduceBy> {
  static constexpr std::array<std::string_view, 3> names{"auto", "own", "nccl"};
};

enum class PassLaunch { graph, eager };
template <>
struct EnumNames<PassLaunch> {
  static constexpr std::array<std::string_view, 2> names{"graph", "eager"};
};

/// Of cached keys and values; automatic: that of products, but no fewer than 8 bits and no more than 16.
enum class CacheChoice { automatic, bf16, fp8 };
template <>
struct EnumNames<CacheChoice> {
  static constexpr std::array<std::string_view, 3> names{"auto", "bf16", "fp8"};
};

/// Of GEMMs of routed experts; automatic: as all others.
enum class ExpertPrecision { automatic, bf16, fp16, fp8, fp4 };
template <>
struct EnumNames<ExpertPrecision> {
  static constexpr std::array<std::string_view, 5> names{"auto", "bf16", "fp16", "fp8", "fp4"};
};

/// Of weights of linear layers in memory; automatic: that of their GEMMs.
enum class WeightChoice { automatic, bf16, fp16, fp8, fp4 };
template <>
struct EnumNames<WeightChoice> {
  static constexpr std::array<std::string_view, 5> names{"auto", "bf16", "fp16", "fp8", "fp4"};
};

/// The way of a cache from GPU to GPU; automatic: the first of the others that is there.
enum class TransferPath { automatic, nvlink, rdma, host };
template <>
struct EnumNames<TransferPath> {
  static constexpr std::array<std::string_view, 4> names{"auto", "nvlink", "rdma", "host"};
};

struct ServingParallel {
  int tensor = 1, pipeline = 1, expert = 1;
  int expert_tensor = 0;  ///< 0: 1 with expert parallelism, else as `tensor`
  int data = 0;           ///< 0: what the GPUs leave
};
struct PrefillNodes {
  int gpus = 0;  ///< the job's first ones; 0: none, prompts and decoding share all GPUs
  ServingParallel parallel;
};
struct DisaggregatedSpec {
  PrefillNodes prefill;
  TransferPath transfer = TransferPath::automatic;
  bool stream = true;  ///< a layer's cache is sent while the next layer computes
};

/// Requests that come.
struct LoadSpec {
  Arrivals arrivals = Arrivals::closed;
  std::int64_t clients = 0;   ///< that wait for answers; 0: as many as replicas work on at once
  double rate = 0;            ///< requests/s, where they come by themselves
  std::string file;           ///< of arrivals: CSV with a line for each request
  std::int64_t requests = 0;  ///< 0: ten times as many as are at work at once, or all of the file
  std::int64_t warmup = -1;   ///< further ones at the beginning, which do not count; -1: the first one of each client
  double spread = 0;          ///< lengths are uniform in the mean x (1 - spread .. 1 + spread)
  double cached = 0;          ///< part of a prompt that a prefix cache has
  std::int64_t seed = 1;
  std::vector<ServingRequest> trace;  ///< of the file; no key of its own
};

/// When passes with prompts begin.
struct SchedulerSpec {
  Batching batching = Batching::automatic;
  std::int64_t wait = 0;     ///< passes that prompts wait, at most, for more of them
  double fill = 0;           ///< part of a pass's tokens at which they wait no longer
  std::int64_t receive = 1;  ///< decode passes from one look at new requests to the next
};

struct ServingExpertSpec {
  ExpertPrecision precision = ExpertPrecision::automatic;
  WeightChoice weight_precision = WeightChoice::automatic;
  int redundant = 0;
};

struct SpeculationSpec {
  int tokens = 0;
  double acceptance = 0.7;
  int layers = 1;
};

struct InferenceSpec {
  Framework framework = Framework::vllm;
  std::string stack;  ///< empty: the framework's newest
  ModelSpec model;
  Precision precision = Precision::bf16;
  WeightChoice weight_precision = WeightChoice::automatic;
  CacheChoice cache_precision = CacheChoice::automatic;
  InferencePhase phase = InferencePhase::decode;
  int batch = 1;  ///< 0: as many as fit
  std::int64_t input = 1024, output = 128;
  Bytes message{0};        ///< of phase all_reduce; 0: what a decode step of `batch` reduces
  std::int64_t chunk = 0;  ///< 0: prompts are cut to fill passes only if the engine does so
  ServingExpertSpec experts;
  SchedulerSpec scheduler;
  SpeculationSpec speculation;
  LoadSpec load;
  ServingParallel parallel;
  PassLaunch launch = PassLaunch::graph;
  AllReduceBy all_reduce = AllReduceBy::automatic;
  bool overlap = false;  ///< of collectives of one half of a pass with computation of the other
  double imbalance = 1;
  DisaggregatedSpec disaggregated;
};
void visit_fields(FieldVisitor& visit, InferenceSpec& spec);

/// Fills in what is left to the software or the size of the job.
/// \throws UserError with all that does not fit together: splits that do not multiply out, precisions that a GPU lacks
void complete(InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node, int nodes, int nvlink_nodes);

/// Sequences that a scenario may ask for.
constexpr int most_served_sequences = 1'000'000;
/// Requests that a load may simulate.
constexpr std::int64_t most_requests = 1'000'000;
/// Whether one sequence does not fit in what the engine uses unless it is told to use more.
bool needs_more_memory(const InferenceStep& step, const NodeSpec& node);
/// What an engine uses of a GPU's memory: a part of all, or weights and a part of what they leave free; all where it has to
/// be told to use more.
Bytes memory_capacity(const InferenceStep& step, const NodeSpec& node);
/// Sequences of a replica that fit beside the weights at their full length. Weights that do not fit leave 1, which
/// memory_faults refuses.
int largest_batch(const InferenceStep& step, const NodeSpec& node);
/// Tokens of requests that a replica's cache holds beside the weights.
std::int64_t cache_tokens(const InferenceStep& step, const NodeSpec& node);
/// When passes with prompts begin. \pre the spec is complete
PromptPolicy prompt_policy(const InferenceSpec& spec, const ServingStack& stack);

/// The engine of that name, or a framework's newest. \throws UserError (path workload.stack)
ServingStack find_serving_stack(const Hardware& hardware, Framework framework, const std::string& name);

/// What does not fit beside the weights: the batch where it decodes, a request where they come and wait, a pass over a
/// prompt. \pre the spec is complete
std::vector<Diagnostic> memory_faults(const InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node,
                                      int nvlink_nodes);

/// Of the GPUs that decode, or that do all. \pre the spec is complete
InferenceStep inference_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes,
                             const Hardware& hardware);
/// Of those that work on prompts. \pre there are some
InferenceStep prefill_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes, const Hardware& hardware);

}  // namespace fabricast
