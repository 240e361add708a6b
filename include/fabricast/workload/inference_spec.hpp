// The scenario section of inference: `workload: {kind: inference, ...}`.
//
// What is `auto`, 0 or empty is filled in from the framework's software generation and the size of the job, and shown so.
#pragma once

#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/workload/inference.hpp"
#include "fabricast/workload/model_spec.hpp"

namespace fabricast {

enum class InferencePhase { decode, prefill, both };
template <>
struct EnumNames<InferencePhase> {
  static constexpr std::array<std::string_view, 3> names{"decode", "prefill", "both"};
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

/// Of weights of linear layers in memory; automatic: that of products.
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
  std::int64_t chunk = 0;  ///< 0: prompts are not cut to ride along with decoding
  ServingParallel parallel;
  PassLaunch launch = PassLaunch::graph;
  bool overlap = false;  ///< of exchanges of one half of a pass with computation of the other
  double imbalance = 1;
  DisaggregatedSpec disaggregated;
};
void visit_fields(FieldVisitor& visit, InferenceSpec& spec);

/// Fills in what is left to the software or the size of the job.
/// \throws UserError with all that does not fit together: splits that do not multiply out, precisions that a GPU lacks
void complete(InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node, int nodes, int nvlink_nodes);

/// Sequences that a scenario may ask for.
constexpr int most_served_sequences = 1'000'000;
/// Sequences of a replica that fit beside the weights at their full length. Weights that do not fit leave 1, which
/// memory_faults refuses.
int largest_batch(const InferenceStep& step, const NodeSpec& node);

/// What does not fit beside the weights: the batch where it decodes, a pass over a prompt. \pre the spec is complete
std::vector<Diagnostic> memory_faults(const InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node,
                                      int nvlink_nodes);

/// Of the GPUs that decode, or that do all. \pre the spec is complete
InferenceStep inference_step(const InferenceSpec& spec, const NodeSpec& node, const Hardware& hardware);
/// Of those that work on prompts. \pre there are some
InferenceStep prefill_step(const InferenceSpec& spec, const NodeSpec& node, const Hardware& hardware);

}  // namespace fabricast
