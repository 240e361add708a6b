// What a step holds in a GPU's memory, part by part, and what would make it fit.
//
// Training: parameters, gradients and the optimizer's state, split as tensor, pipeline and expert parallelism and ZeRO
// have it; activations that the backward pass needs, of all micro-batches in flight; logits; what is gathered for a
// layer at a time; and what does not depend on the model. Inference: weights, cached keys and values, activations.
// Formulas: docs/models/transformer.md.
//
// Not modelled: offloading, optimizers other than Adam, activations of a parallel block, tensors that a framework keeps
// for no need of the model.
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

struct MemoryQuestion {
  bool training = true;
  ParallelLayout layout;  ///< `shard`: ranks over which `zero` splits
  Precision precision = Precision::bf16;
  std::int64_t sequence = 0;  ///< tokens, 0: the model's; of inference: those that are cached
  // Training.
  bool sequence_parallel = false;
  int micro_batch = 1, micro_batches = 1;
  int mtp_layers = 0;  ///< modules of multi-token prediction, on the last stage
  int zero = 0;        ///< what is split: 1 the optimizer's state, 2 and gradients, 3 and parameters
  Recomputed recompute;
  double offloaded = 0;  ///< layers of a stage whose activations wait in host memory
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int interleave = 1;
  std::vector<int> layers;      ///< of each chunk; empty: as even as can be
  int gradient_bytes = 4;       ///< of a gradient as it is added up: 2 or 4
  bool fused_attention = true;  ///< else its scores are kept
  bool fused_loss = false;      ///< logits are kept in 16 bits alone, with their gradient
  bool dropout = false;         ///< masks are kept
  double input_bytes = 0;       ///< of an element that linear layers keep of their inputs; 0: as activations
  // Inference.
  int batch = 1;                            ///< sequences that are cached
  std::int64_t tokens = 0;                  ///< computed at once, of all sequences; 0: one of each, to decode
  std::optional<Precision> weights;         ///< of linear layers; none: as `precision`
  std::optional<Precision> expert_weights;  ///< of routed experts; none: as `weights`
  Precision cache_precision = Precision::bf16;
  int redundant_experts = 0;  ///< copies of experts, of all ranks together
  int nvlink_ranks = 8;       ///< tensor parallelism is not proposed beyond
};

/// What does not follow from the model; values in models/workload/data/memory.json.
struct MemoryModel {
  Parameter framework;      ///< GiB: CUDA's context, libraries, the framework
  Parameter communicator;   ///< GiB of buffers of a NCCL communicator
  Parameter fragmentation;  ///< part of what comes and goes that the allocator loses
  Parameter logit;          ///< B per logit of a training step
  Parameter fused_logit;    ///< the same with a fused loss
  Parameter prefetched;     ///< layers gathered ahead by ZeRO 3
};
std::vector<ParameterRef> parameters(MemoryModel& model);
const MemoryModel& shipped_memory_model();

/// Bytes on one GPU.
struct MemoryUse {
  int stage = 0;
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0;  ///< of layers
  double logits = 0;       ///< and what belongs to both embeddings
  double gathered = 0;     ///< whole layers, by ZeRO 3
  double cache = 0;        ///< keys and values
  double workspace = 0;    ///< of the layer at work
  double fragmentation = 0, communicators = 0, framework = 0;
  double total() const;
  static constexpr std::size_t parts = 11;
  /// All that it is made of, by name.
  std::array<std::pair<std::string_view, double>, parts> by_part() const;
};

/// Micro-batches whose activations a stage holds at once, counted in layers of the whole stage.
double micro_batches_in_flight(const MemoryQuestion& question, int stage);

/// B that the forward pass of a layer leaves for its backward pass on one GPU, of one micro-batch.
double kept_by_layer(const Transformer& model, const MemoryQuestion& question, bool experts);

/// Of a rank of that pipeline stage.  \pre tensor and expert divide what they split, or round up
MemoryUse memory_of(const Transformer& model, const MemoryQuestion& question, int stage,
                    const MemoryModel& parameters = shipped_memory_model());
/// Of the stage that needs most.
MemoryUse peak_memory(const Transformer& model, const MemoryQuestion& question,
                      const MemoryModel& parameters = shipped_memory_model());

/// `91.2 GiB on stage 0: optimizer 48.1, activations 20.0, ...`, largest part first.
std::string to_text(const MemoryUse& use);

/// Single changes of the question with which it fits, each with the memory it takes; if there are none, pairs of
/// changes. Empty: nothing that is tried helps.
std::vector<std::string> ways_to_fit(const Transformer& model, const MemoryQuestion& question, Bytes capacity,
                                     const MemoryModel& parameters = shipped_memory_model());

/// What the estimate of a training step may be off, relative: peaks that torchtitan reports are 13 % above to 6 % below it
/// [torchtitan-benchmarks], and steps that were published as run are up to 5 % above their GPU's memory.
constexpr double memory_uncertainty = 0.1;

/// The user's fault if it does not fit; its hint holds the ways to fit.
/// \param tolerated  up to so many times the capacity it is taken to fit
std::optional<Diagnostic> memory_fault(const Transformer& model, const MemoryQuestion& question, Bytes capacity,
                                       double tolerated = 1, const MemoryModel& parameters = shipped_memory_model());

}  // namespace fabricast
