// A training step: from a model, its split over ranks and a software stack to a program.
//
// What each part does, and where it is exposed or hidden, is in docs/models/training.md. All times of kernels come from
// `Kernels`, all times of exchanges from the network (step/traffic.hpp).
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

struct TrainingStep {
  Transformer model;
  int mtp_layers = 0;  ///< modules of multi-token prediction, on the last stage
  ParallelLayout layout;
  bool sequence_parallel = false;  ///< of tensor parallelism: norms are split by tokens
  int global_batch = 1;            ///< sequences
  int micro_batch = 1;             ///< sequences
  Precision precision = Precision::bf16;
  Scaling scaling = Scaling::delayed;  ///< of 8 and 4 bits
  Recomputed recompute;
  double offloaded = 0;  ///< layers of a stage whose activations wait in host memory
  int zero =
      0;  ///< 0: all replicas hold all; 1 optimizer, 2 and gradients, 3 and parameters are split over `shard` ranks
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int interleave = 1;
  std::vector<int> layers;  ///< of each chunk, in order of the model; empty: as even as can be
  bool overlap_data = false, overlap_tensor = false, overlap_pipeline = false, overlap_expert = false;
  int token_copies = 0;  ///< of a token that an alltoall sends; 0: one for each of its experts
  Dispatcher dispatcher = Dispatcher::alltoall;
  int dispatcher_sms = 0;     ///< SMs that the dispatcher's kernels hold; 0: those of NCCL's channels
  bool fp8_dispatch = false;  ///< tokens, and gradients of their results, go to experts in 8 bits
  bool fused_permutation = true;
  CudaGraphs cuda_graphs = CudaGraphs::none;
  int nvlink_ranks = 1;    ///< GPUs of an NVLink domain
  Bytes bucket{25 << 20};  ///< of gradients that are reduced together
  double compression = 1;  ///< of gradients: bytes on the network, relative
  bool compiled = true;
  double expert_imbalance = 1;  ///< tokens of the busiest rank, relative to the mean
  double capacity = 0;          ///< most tokens of an expert, relative to the mean; 0: no limit
  Stack stack;
  Kernels kernels;
  BytesPerSecond host_rate;  ///< between a GPU and its host's memory, one way

  int micro_batches() const { return global_batch / (micro_batch * layout.data); }
  /// Tokens of a micro-batch on one rank.
  double tokens() const {
    return static_cast<double>(micro_batch) * static_cast<double>(model.sequence) / layout.context;
  }
};

/// \pre the degrees divide what they split (check_training)
Program training_program(const TrainingStep& step);

/// FLOPs of the step by one GPU that the model needs, recomputation not counted.
double model_flops_per_gpu(const TrainingStep& step, bool causal);

}  // namespace fabricast
