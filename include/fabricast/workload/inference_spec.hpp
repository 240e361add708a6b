// The scenario section of inference: `workload: {kind: inference, ...}`.
//
// The spec structs mirror the keys of the section (docs/formats.md). `complete` replaces these values if they are
// `auto`, 0 or empty: stack, batch, degrees of data parallelism, batching, precision of the cache, and what moves
// caches (transfer, stream, library, block, drives). Reports show the completed section. The other keys stay as they
// are, and 0 or `auto` keeps its meaning: inference_step resolves precisions, `chunk`, `expert_tensor` and
// `all_reduce`, and what simulates requests resolves clients, requests, warmup and rails. The functions after
// `complete` require a complete spec.
//
// Numbers of tokens and sequences are plain integers. Texts and limits of the keys stand in visit_fields
// (models/workload/inference_spec.cpp); the comments here say what a value means in the code.
//
// Pure functions; safe to call concurrently. Errors are UserErrors with paths below `workload`.
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

/// What is timed: a decode step, a batch of prompts, requests from end to end, or one all-reduce of tensor parallelism.
enum class InferencePhase {
  decode,     ///< a step in which each sequence of the batch gets its next token
  prefill,    ///< passes over a batch of prompts
  both,       ///< requests that arrive, wait and are served: LoadSpec and SchedulerSpec apply
  all_reduce  ///< one call of `message` bytes, as a pass makes it
};
template <>
struct EnumNames<InferencePhase> {
  static constexpr std::array<std::string_view, 4> names{"decode", "prefill", "both", "all_reduce"};
};

/// Whether prompts have passes of their own or join passes that decode; automatic: mixed if the scenario gives a chunk,
/// else as the engine does.
enum class Batching { automatic, prompts_first, mixed };
template <>
struct EnumNames<Batching> {
  static constexpr std::array<std::string_view, 3> names{"auto", "prompts_first", "mixed"};
};

/// Whether the host plans a pass while the one before it runs; automatic: as the engine does.
enum class PlanAhead { automatic, on, off };
template <>
struct EnumNames<PlanAhead> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

/// What runs small all-reduces inside an NVLink domain: the engine's own kernel or NCCL; automatic: as the engine does.
enum class AllReduceBy { automatic, own, nccl };
template <>
struct EnumNames<AllReduceBy> {
  static constexpr std::array<std::string_view, 3> names{"auto", "own", "nccl"};
};

/// How decode passes are launched: as a CUDA graph, or kernel by kernel.
enum class PassLaunch { graph, eager };
template <>
struct EnumNames<PassLaunch> {
  static constexpr std::array<std::string_view, 2> names{"graph", "eager"};
};

/// Format of the KV cache; automatic: fp8 if GEMMs, or those of experts alone, compute in 8 bits or fewer, else bf16.
enum class CacheChoice { automatic, bf16, fp8, int8, int4 };
template <>
struct EnumNames<CacheChoice> {
  static constexpr std::array<std::string_view, 5> names{"auto", "bf16", "fp8", "int8", "int4"};
};

/// Precision of GEMMs that may differ from the others; automatic: as all other GEMMs.
enum class GemmChoice { automatic, bf16, fp16, fp8, fp4 };
template <>
struct EnumNames<GemmChoice> {
  static constexpr std::array<std::string_view, 5> names{"auto", "bf16", "fp16", "fp8", "fp4"};
};

/// Format of the weights of linear layers in memory; automatic: that of their GEMMs. Weights wider than their GEMMs are
/// refused, because engines narrow weights when they load them.
enum class WeightChoice { automatic, bf16, fp16, fp8, fp4, int8, int4 };
template <>
struct EnumNames<WeightChoice> {
  static constexpr std::array<std::string_view, 7> names{"auto", "bf16", "fp16", "fp8", "fp4", "int8", "int4"};
};

/// The path of a KV-cache transfer from GPU to GPU; automatic: the first of the others that is available.
enum class TransferPath {
  automatic,
  nvlink,  ///< if it connects the GPUs of both sides, it is the only one accepted: libraries use it
  rdma,    ///< GPUDirect RDMA
  host     ///< staged in host memory at both ends
};
template <>
struct EnumNames<TransferPath> {
  static constexpr std::array<std::string_view, 4> names{"auto", "nvlink", "rdma", "host"};
};

/// Where the cached prefixes of prompts lie: in the GPUs' own memory, in host memory, or on drives of the node.
enum class CacheTier { hbm, host, ssd };
template <>
struct EnumNames<CacheTier> {
  static constexpr std::array<std::string_view, 3> names{"hbm", "host", "ssd"};
};

/// Degrees of parallelism. tensor x pipeline x data is the number of GPUs; expert parallelism divides the tensor and
/// data parallel ranks of a stage.
struct ServingParallel {
  int tensor = 1, pipeline = 1, expert = 1;
  /// Ranks that split each expert. expert x expert_tensor is either `tensor` or, with expert 1, a multiple of it.
  int expert_tensor = 0;  ///< 0: 1 with expert parallelism, else as `tensor`
  int data = 0;           ///< 0: as many replicas as the GPUs allow
};
/// GPUs that only process prompts.
struct PrefillNodes {
  int gpus = 0;              ///< the first GPUs of the job; 0: all GPUs process prompts and decode
  ServingParallel parallel;  ///< of these GPUs; that of InferenceSpec then holds for the others
};
/// Disaggregated serving: prefill and decode on different GPUs, for phase `both` alone.
struct DisaggregatedSpec {
  PrefillNodes prefill;
  TransferPath transfer = TransferPath::automatic;
  KvStream stream = KvStream::automatic;
};

/// How the KV cache is held and moved.
struct KvCacheSpec {
  KvLibrary library = KvLibrary::automatic;  ///< automatic: the engine's; nccl over NICs that have no RDMA
  std::int64_t block = 0;                    ///< tokens of a block; 0: as the engine does
  std::int64_t contiguous = 1;               ///< blocks that lie next to each other; 0: all blocks of a request
  int rails = 0;  ///< NICs that a GPU sends by; 0: those as near as its own, at most `usual_rails`
  CacheTier tier = CacheTier::hbm;
  BytesPerSecond drives{0};  ///< rate at which the drives of a node are read; 0: usual_drive_rate
};

/// The requests that arrive, for phase `both`. A key that does not apply to the arrivals is refused, since it would be
/// ignored without notice.
struct LoadSpec {
  Arrivals arrivals = Arrivals::closed;
  std::int64_t clients = 0;   ///< of closed arrivals; 0: as many as all replicas serve concurrently
  double rate = 0;            ///< requests/s of poisson arrivals
  std::string file;           ///< of trace arrivals: CSV with one line per request
  std::int64_t requests = 0;  ///< that count; 0: ten times `clients` (or what is served at once), or the whole file
  std::int64_t warmup = -1;   ///< more requests at the start; -1: the first of each client, none without clients
  double spread = 0;          ///< lengths are uniform in mean x (1 - spread .. 1 + spread)
  double cached = 0;          ///< fraction of a prompt that is in a prefix cache
  std::int64_t seed = 1;
  std::vector<ServingRequest> trace;  ///< contents of `file`; has no key
};

/// When passes with prompts start, for phase `both`. The defaults start a pass as soon as the engine sees a prompt.
struct SchedulerSpec {
  Batching batching = Batching::automatic;
  std::int64_t wait = 0;     ///< maximum number of passes that prompts wait for further prompts
  double fill = 0;           ///< fraction of a pass's tokens at which prompts stop waiting
  std::int64_t receive = 1;  ///< decode passes between two checks for new requests
  PlanAhead ahead = PlanAhead::automatic;
  std::int64_t tokens = 0;  ///< maximum tokens of a pass with prompts; 0: `chunk`, or as the engine does
};

/// Routed experts, where they differ from the other linear layers.
struct ServingExpertSpec {
  GemmChoice precision = GemmChoice::automatic;
  WeightChoice weight_precision = WeightChoice::automatic;
  int redundant = 0;  ///< additional copies of experts, summed over all ranks
};

/// As Speculation (inference.hpp).
struct SpeculationSpec {
  int tokens = 0;           ///< guessed per decode step; 0: none
  double acceptance = 0.7;  ///< probability that a guess is accepted if all before it are
  int layers = 1;           ///< layers that compute a guess, besides the vocabulary
};

/// The section `workload` of kind inference.
struct InferenceSpec {
  Framework framework = Framework::vllm;
  std::string stack;  ///< release of the engine; empty: the newest one of the framework
  ModelSpec model;
  Precision precision = Precision::bf16;                    ///< of linear layers; the GPU must support it
  WeightChoice weight_precision = WeightChoice::automatic;  ///< of linear layers, experts included unless they say so
  GemmChoice projection_precision = GemmChoice::automatic;  ///< of attention's output projection, GEMM and weights
  double offload_weights = 0;  ///< fraction of the weights of linear layers that lies in host memory
  CacheChoice cache_precision = CacheChoice::automatic;
  InferencePhase phase = InferencePhase::decode;
  int batch = 1;  ///< sequences that a replica serves concurrently; 0: as many as fit in memory
  std::int64_t input = 1024, output = 128;  ///< tokens of a prompt and of its answer; means if lengths vary
  Bytes message{0};                         ///< of phase all_reduce; 0: what a decode step of `batch` reduces
  std::int64_t chunk = 0;  ///< maximum tokens of a pass with prompts, which are cut to fill it; 0: as the engine does
  ServingExpertSpec experts;
  SchedulerSpec scheduler;
  SpeculationSpec speculation;
  LoadSpec load;
  ServingParallel parallel;
  PassLaunch launch = PassLaunch::graph;
  AllReduceBy all_reduce = AllReduceBy::automatic;
  bool overlap = false;  ///< communication of one half of a pass overlaps computation of the other half
  double imbalance = 1;  ///< tokens for the experts of the most loaded rank, relative to the mean
  KvCacheSpec kv_cache;
  DisaggregatedSpec disaggregated;
};
/// The keys of the section with their limits, for reading, writing and documentation (core/fields.hpp).
void visit_fields(FieldVisitor& visit, InferenceSpec& spec);

/// Fills in what the spec leaves to the software or to the size of the job, and checks it in three stages: keys by
/// themselves, then degrees of parallelism and transfers, then precisions. The first two report all their faults; a
/// later stage would only repeat those of an earlier one. With batch 0 the largest batch is searched, which takes some
/// twenty evaluations of the memory model.
/// \param nodes  of the job  \param nvlink_nodes  hosts of an NVLink domain
/// \throws UserError with everything that is inconsistent: degrees whose product is not the number of GPUs, precisions
/// that the GPU lacks, and so on
void complete(InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node, int nodes, int nvlink_nodes);

/// Maximum number of sequences that a scenario may request for a replica.
constexpr int most_served_sequences = 1'000'000;
/// Maximum number of requests that a load may simulate.
constexpr std::int64_t most_requests = 1'000'000;
/// Whether even a single sequence exceeds the memory that the engine uses by default.
bool needs_more_memory(const InferenceStep& step, const NodeSpec& node);
/// Memory of a GPU that the engine uses: by default a share of the whole, or the weights and a share of the rest. The
/// whole memory if needs_more_memory, because then a user has to raise the engine's limit.
Bytes memory_capacity(const InferenceStep& step, const NodeSpec& node);
/// Sequences of a replica that fit in memory at full length, in addition to the weights. At least 1 even if the weights
/// do not fit; memory_faults refuses this case. At most most_served_sequences.
int largest_batch(const InferenceStep& step, const NodeSpec& node);
/// Tokens of requests that fit in a replica's KV cache: largest_batch sequences of input + output tokens.
std::int64_t cache_tokens(const InferenceStep& step, const NodeSpec& node);
/// The scheduler's rules. \pre the spec is complete
PromptPolicy prompt_policy(const InferenceSpec& spec, const ServingStack& stack);

/// The engine of that name, or the framework's newest if the name is empty. An engine of that name is returned even if
/// it belongs to another framework; `complete` refuses it.
/// \throws UserError (path workload.stack) if no engine has the name, (path workload.framework) if the framework has
/// none
ServingStack find_serving_stack(const Hardware& hardware, Framework framework, const std::string& name);
/// Whether a release of an engine plans a pass while the one before it runs, by default.
bool plans_ahead(const ServingStack& stack);

/// What does not fit in memory: the batch for decoding, or a single request where requests queue, and a pass over one
/// prompt on GPUs that process prompts. Empty if everything fits. \pre the spec is complete
std::vector<Diagnostic> memory_faults(const InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node,
                                      int nvlink_nodes);

/// The step on the GPUs that decode, or on all GPUs without disaggregation. \pre the spec is complete
InferenceStep inference_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes,
                             const Hardware& hardware);
/// The step on the GPUs that only process prompts. \pre the spec is complete and has such GPUs
InferenceStep prefill_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes, const Hardware& hardware);

}  // namespace fabricast
