// What a step holds in the memory of a GPU, component by component, and which settings would make it fit.
//
// Training: parameters, gradients and optimizer state, as tensor, pipeline and expert parallelism and ZeRO split them;
// activations that the backward pass needs, of all micro-batches in flight; logits; parameters gathered for one layer
// at a time; and what does not depend on the model. Inference: weights, KV cache, activations.
// Formulas: docs/models/transformer.md.
//
// Sizes are bytes per GPU. Pure functions; safe to call concurrently.
// Not modelled: offloading to host memory other than of activations in training and of weights in inference, optimizers
// other than Adam, activations of blocks that run attention and feed-forward in parallel, and tensors that a framework
// keeps without need.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/hardware/compute.hpp"
#include "fabricast/workload/model.hpp"
#include "fabricast/workload/parallel.hpp"
#include "fabricast/workload/recompute.hpp"
#include "fabricast/workload/schedule.hpp"

namespace fabricast {

/// Everything that the memory of a step depends on. Training and inference use different members.
struct MemoryQuestion {
  bool training = true;
  ParallelLayout layout;  ///< `shard`: ranks over which `zero` splits
  Precision precision = Precision::bf16;
  std::int64_t sequence = 0;  ///< tokens of a sequence, 0: the model's; in inference the cached tokens
  // Training.
  bool sequence_parallel = false;
  int micro_batch = 1, micro_batches = 1;
  int mtp_layers = 0;  ///< modules of multi-token prediction, on the last stage
  int zero = 0;        ///< what is sharded: 1 optimizer state, 2 also gradients, 3 also parameters
  Recomputed recompute;
  double offloaded = 0;  ///< layers of a stage whose activations are offloaded to host memory
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int interleave = 1;
  std::vector<int> layers;      ///< number of layers of each chunk; empty: as even as possible
  int gradient_bytes = 4;       ///< per gradient in the accumulation buffer: 2 or 4
  bool fused_attention = true;  ///< if not, attention scores are kept
  bool fused_loss = false;      ///< only 16-bit logits and their gradient are kept
  bool planned = false;         ///< one compiler plans the memory of the step (Stack::plans_memory)
  bool dropout = false;         ///< masks are kept
  double input_bytes = 0;       ///< per element of the inputs that linear layers keep; 0: as activations
  // Inference.
  int batch = 1;                        ///< cached sequences
  std::int64_t tokens = 0;              ///< tokens of one pass, of all sequences; 0: one per sequence, for decoding
  std::optional<NumberFormat> weights;  ///< of linear layers; none: as `precision`
  std::optional<NumberFormat> expert_weights;      ///< of routed experts; none: as `weights`
  std::optional<NumberFormat> projection_weights;  ///< of attention's output projection; none: as `weights`
  NumberFormat cache_precision = NumberFormat::bf16;
  double offload_weights = 0;  ///< fraction of the weights of linear layers in host memory
  int redundant_experts = 0;   ///< additional copies of experts, summed over all ranks
  int nvlink_ranks = 8;        ///< upper limit of tensor parallelism in proposals
};

/// Parameters that do not follow from the model; values in models/workload/data/memory.json.
struct MemoryModel {
  Parameter framework;      ///< GiB: CUDA context, libraries, framework
  Parameter communicator;   ///< GiB of buffers per NCCL communicator
  Parameter fragmentation;  ///< fraction of temporary tensors that the allocator loses
  Parameter logit;          ///< B per logit of a training step
  Parameter fused_logit;    ///< the same with a fused loss
  Parameter prefetched;     ///< layers that ZeRO 3 gathers ahead
};
/// The parameters of the model with names, units and descriptions.
std::vector<ParameterRef> parameters(MemoryModel& model);
/// The values of memory.json, parsed once.
const MemoryModel& shipped_memory_model();

/// Bytes on one GPU, by component.
struct MemoryUse {
  int stage = 0;
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0;  ///< of layers
  double logits = 0;       ///< and activations around the embeddings
  double gathered = 0;     ///< whole layers, gathered by ZeRO 3
  double cache = 0;        ///< KV cache
  double workspace = 0;    ///< of the layer that is being computed
  double fragmentation = 0, communicators = 0, framework = 0;
  double in_host = 0;  ///< weights in the memory of the host instead; not part of the total
  /// The sum of all components.
  double total() const;
  /// The fraction of a capacity that they need.
  double share(Bytes capacity) const { return total() / fractional(capacity); }
  static constexpr std::size_t parts = 11;
  /// All components with their names, which are also the keys of the JSON output.
  std::array<std::pair<std::string_view, double>, parts> by_part() const;
};

/// Number of micro-batches whose activations a stage holds at once, a fraction if it holds only some of its chunks.
double micro_batches_in_flight(const MemoryQuestion& question, int stage);

/// Bytes that the forward pass of one layer keeps for its backward pass, on one GPU and for one micro-batch.
double kept_by_layer(const Transformer& model, const MemoryQuestion& question, bool experts);

/// Memory of a rank of the pipeline stage `stage`. Key-value heads are rounded up to whole heads per rank in inference.
/// \pre 0 <= stage < layout.pipeline
MemoryUse memory_of(const Transformer& model, const MemoryQuestion& question, int stage,
                    const MemoryModel& parameters = shipped_memory_model());
/// Memory of the stage that needs most.
MemoryUse peak_memory(const Transformer& model, const MemoryQuestion& question,
                      const MemoryModel& parameters = shipped_memory_model());

/// `91.2 GiB on stage 0: optimizer 48.1, activations 20.0, ...`, largest component first.
std::string to_text(const MemoryUse& use);

/// Changes of settings that make the step fit, each with the memory it then needs: first those on the same GPUs, which
/// are pairs of changes where fewer than three settings are sufficient alone; then those that need more GPUs. Empty: no
/// change that was tried is sufficient.
std::vector<std::string> settings_that_fit(const Transformer& model, const MemoryQuestion& question, Bytes capacity,
                                           const MemoryModel& parameters = shipped_memory_model());

/// Relative error of the estimate for a training step. Peaks that torchtitan reports are 13 % above to 6 % below the
/// estimate [torchtitan-benchmarks]. For steps that were published as run, it exceeds the memory of the GPU by up to 5
/// %.
constexpr double memory_uncertainty = 0.1;

/// A diagnostic if the step does not fit; its hint lists the changes of settings_that_fit. Nothing if it fits.
/// \param tolerated  the step is accepted up to this multiple of `capacity`
std::optional<Diagnostic> memory_fault(const Transformer& model, const MemoryQuestion& question, Bytes capacity,
                                       double tolerated = 1, const MemoryModel& parameters = shipped_memory_model());

}  // namespace fabricast
