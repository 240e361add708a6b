// A training step: from a model, its parallel layout and a software stack to a program.
//
// docs/models/training.md describes what each part of a step does, and where it is exposed or overlapped. Times of
// kernels come from `Kernels`, times of collectives from the network model (traffic/traffic.hpp).
//
// A stage works through its schedule (schedule.hpp): each entry becomes the layers of one chunk for one micro-batch,
// with sends and receives at its ends and the collectives of data parallelism around it. Waits and the pipeline bubble
// are not computed by a formula; they result when the program runs (step/timeline.hpp).
//
// Pure functions; safe to call concurrently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/core/units.hpp"
#include "fabricast/hardware/compute.hpp"
#include "fabricast/hardware/stack.hpp"
#include "fabricast/workload/cuda_graphs.hpp"
#include "fabricast/workload/dispatcher.hpp"
#include "fabricast/workload/kernels.hpp"
#include "fabricast/workload/model.hpp"
#include "fabricast/workload/parallel.hpp"
#include "fabricast/workload/program.hpp"
#include "fabricast/workload/recompute.hpp"
#include "fabricast/workload/scaling.hpp"
#include "fabricast/workload/schedule.hpp"

namespace fabricast {

/// A training step with all settings resolved. A plain value. training_step (step_spec.hpp) makes it from a scenario,
/// and guarantees what the functions below require.
struct TrainingStep {
  Transformer model;
  int mtp_layers = 0;  ///< modules of multi-token prediction, on the last stage
  ParallelLayout layout;
  bool sequence_parallel = false;  ///< tensor parallel ranks also split norms, by tokens
  int global_batch = 1;            ///< sequences
  int micro_batch = 1;             ///< sequences
  Precision precision = Precision::bf16;
  Scaling scaling = Scaling::delayed;  ///< recipe for 8-bit and 4-bit numbers
  Recomputed recompute;
  double offloaded = 0;  ///< layers of a stage whose activations are offloaded to host memory
  /// What is sharded over `shard` ranks: 0 nothing, 1 optimizer state, 2 also gradients, 3 also parameters.
  int zero = 0;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int interleave = 1;       ///< chunks of layers per stage
  std::vector<int> layers;  ///< number of layers of each chunk, in model order; empty: as even as possible
  /// Whether collectives of each dimension of parallelism overlap computation.
  bool overlap_data = false, overlap_tensor = false, overlap_pipeline = false, overlap_expert = false;
  int token_copies = 0;  ///< of a token in an alltoall; 0: one per expert
  Dispatcher dispatcher = Dispatcher::alltoall;
  int dispatcher_sms = 0;         ///< SMs that the dispatcher's kernels occupy; 0: those of NCCL's channels
  bool fp8_dispatch = false;      ///< tokens, and gradients of their results, are dispatched in 8 bits
  bool fused_permutation = true;  ///< one kernel puts tokens into the order of experts
  CudaGraphs cuda_graphs = CudaGraphs::none;
  int nvlink_ranks = 1;         ///< GPUs of an NVLink domain
  Bytes bucket{25 << 20};       ///< bytes of gradients that one collective reduces
  double compression = 1;       ///< of gradients: bytes on the network relative to uncompressed
  bool compiled = true;         ///< element-wise kernels are fused
  double expert_imbalance = 1;  ///< tokens of the most loaded rank, relative to the mean
  double capacity = 0;          ///< maximum tokens of an expert, relative to the mean; 0: no limit
  Stack stack;                  ///< the framework's, with what the scenario overrides
  Kernels kernels;              ///< of the GPU, for times of computation
  BytesPerSecond host_rate;     ///< between a GPU and the memory of its host, in one direction

  /// Micro-batches per replica and step.
  int micro_batches() const { return global_batch / (micro_batch * layout.data); }
  /// Tokens of a micro-batch on one rank.
  double tokens() const {
    return static_cast<double>(micro_batch) * static_cast<double>(model.sequence) / layout.context;
  }
};

/// The program of one step: one actor per pipeline stage, which stands for all ranks of that stage. Time and memory
/// grow with stages x chunks x micro-batches; if a replica has more than 4,000 passes of single layers, neighbouring
/// layers are joined into one activity, so that the program stays small.
/// \throws InternalError if a schedule makes a stage wait for itself
/// \pre the degrees of parallelism divide what they split, as complete() in step_spec.hpp checks
Program training_program(const TrainingStep& step);

/// FLOPs that the model needs per step and GPU; recomputation is not counted, so dividing by the time and by the peak
/// rate gives the MFU that papers report. \param causal  attention counts half, since half of the scores are masked
double model_flops_per_gpu(const TrainingStep& step, bool causal);

}  // namespace fabricast
