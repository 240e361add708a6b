// Data parallelism of one pipeline stage: when parameters are gathered, gradients are reduced, and the optimizer runs.
//
//   zero 0      gradients are all-reduced during the last micro-batch's backward pass, bucket by bucket
//   zero 1, 2   gradients are reduce-scattered. Parameters are all-gathered after the optimizer: with overlap, ahead of
//               their first use in the next step, else at once. Where ranks own whole tensors, gradients are
//               all-reduced instead, and the owners broadcast their tensors one after the other
//   zero 3      parameters are gathered layer by layer, forward and backward, one layer ahead. Gradients are
//               reduce-scattered by layer
//
// ZeRO 2 and 3 reduce gradients after every micro-batch, and ZeRO 3 gathers parameters in every micro-batch. With
// pipeline parallelism both happen once per step. With fewer `shard` ranks than replicas (hybrid sharding), shards of
// gradients are then all-reduced over the ranks that hold the same shard.
#pragma once

#include <vector>

#include "fabricast/workload/training.hpp"
#include "stage_queue.hpp"

namespace fabricast {

/// Parameters of a GPU, by the ranks that hold the same ones.
struct HeldParameters {
  double plain = 0;    ///< held by all data (and context) parallel ranks
  double experts = 0;  ///< held by the ranks with the same experts
};

/// Queues the collectives and the optimizer of one stage around its passes.
class DataParallel {
 public:
  /// \param layers  parameters per layer of the stage, in forward order; embedding and output count with their
  /// neighbours
  DataParallel(const TrainingStep& step, ProgramBuilder& builder, StageQueue& queue, int stage,
               std::vector<HeldParameters> layers);

  /// Whether passes of this micro-batch must be queued layer by layer.
  bool by_layer(bool last_micro_batch) const;
  /// Call before any pass.
  void begin_step();
  /// Call directly before a layer's pass. \param then  layer after it in this pass; -1: none
  void before(int layer, int then, bool first_micro_batch);
  /// Starts to gather what the pass of a layer needs, so that computation of another layer hides it.
  /// \pre layer is -1 (does nothing) or a layer of the stage
  void prefetch(int layer);
  /// Call after the backward pass of `count` layers.
  void reduce(int layer, int count, bool last_micro_batch);
  /// Queues the rest after the last pass: reductions, optimizer, gathers.
  void finish();

 private:
  bool shards() const { return step_.zero > 0; }
  bool once_per_step() const { return step_.layout.pipeline > 1; }
  bool gathers_layers() const { return step_.zero == 3 && !once_per_step(); }
  /// The optimizer is sharded, and each rank keeps all parameters.
  bool keeps_parameters() const { return step_.zero == 1 || step_.zero == 2; }
  /// Each rank owns whole tensors instead of a slice of all.
  bool owners() const { return step_.stack.owns_tensors && keeps_parameters(); }
  /// Gradients are all-reduced although the optimizer is sharded.
  bool all_reduces() const { return owners() || (step_.stack.all_reduces_gradients && keeps_parameters()); }
  bool gathers_ahead() const { return shards() && !gathers_layers() && step_.overlap_data && !owners(); }
  bool reduces_always() const { return step_.zero >= 2 && !once_per_step(); }
  /// Number of calls for gradients of that many bytes.
  int calls(double bytes) const;
  std::uint32_t collective(std::uint32_t groups, CollectiveOp op, double bytes, int calls);
  std::uint32_t gather(const HeldParameters& held, int calls = 1);
  std::uint32_t broadcast(const HeldParameters& held);
  void flush();
  std::uint32_t kind(std::uint32_t groups, CollectiveOp op, double bytes);

  const TrainingStep& step_;
  ProgramBuilder& builder_;
  StageQueue& queue_;
  std::vector<HeldParameters> layers_;
  std::uint32_t shard_groups_ = 0, replica_groups_ = 0, expert_groups_ = 0;
  std::uint32_t all_groups_ = 0;  ///< for owners, which reduce over all ranks
  int shard_ = 1, replicas_ = 1, expert_replicas_ = 1;
  std::vector<std::uint32_t> gathered_;  ///< by layer: the gather that its next pass waits for
  HeldParameters waiting_;               ///< gradients in a bucket that is not full yet
  std::vector<std::uint32_t> reductions_;
};

}  // namespace fabricast
