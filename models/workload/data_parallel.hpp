// Data parallelism of one stage: when parameters are gathered, gradients reduced, and the optimizer runs.
//
//   zero 0      gradients of the last micro-batch's backward pass are all-reduced, bucket by bucket
//   zero 1, 2   reduce-scattered; parameters gathered after the optimizer: ahead of the next step's first use of them
//               with overlap, else at once
//               where ranks own whole tensors, all-reduced instead, and each owner broadcasts its own, one after the other
//   zero 3      gathered layer by layer, forward and backward, one layer ahead; gradients reduce-scattered by layer
//
// ZeRO 2 and 3 reduce after every micro-batch, and 3 gathers in each: but for pipelines, which do both once per step.
// With fewer `shard` ranks than replicas the parts of gradients are then all-reduced over those that hold the same part.
#pragma once

#include <vector>

#include "fabricast/workload/training.hpp"
#include "stage_queue.hpp"

namespace fabricast {

/// Parameters of a GPU, by who shares them.
struct HeldParameters {
  double plain = 0;    ///< all data (and context) parallel ranks
  double experts = 0;  ///< ranks that hold the same experts
};

class DataParallel {
 public:
  /// \param layers  by layer of the stage, in the order of forward passes; embedding and output with their neighbours
  DataParallel(const TrainingStep& step, ProgramBuilder& builder, StageQueue& queue, int stage,
               std::vector<HeldParameters> layers);

  /// Whether passes are to go layer by layer in this micro-batch.
  bool by_layer(bool last_micro_batch) const;
  /// Before any pass.
  void begin_step();
  /// Ahead of a layer's pass, which comes next; `then`: the layer after it in this pass, -1: none.
  void before(int layer, int then, bool first_micro_batch);
  /// What a layer's pass needs is asked for now: another one's computation hides it. \pre layer is -1 or of the stage
  void prefetch(int layer);
  /// After the backward pass of some layers.
  void reduce(int layer, int count, bool last_micro_batch);
  /// What is left after the last pass: reductions, optimizer, gathers.
  void finish();

 private:
  bool shards() const { return step_.zero > 0; }
  bool once_per_step() const { return step_.layout.pipeline > 1; }
  bool gathers_layers() const { return step_.zero == 3 && !once_per_step(); }
  /// Each rank has whole tensors, of which it is the owner.
  bool owners() const { return step_.stack.owns_tensors && (step_.zero == 1 || step_.zero == 2); }
  bool gathers_ahead() const { return shards() && !gathers_layers() && step_.overlap_data && !owners(); }
  bool reduces_always() const { return step_.zero >= 2 && !once_per_step(); }
  /// In how many calls a bucket goes that holds so many bytes.
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
  std::uint32_t all_groups_ = 0;  ///< of owners, who reduce over all
  int shard_ = 1, replicas_ = 1, expert_replicas_ = 1;
  std::vector<std::uint32_t> gathered_;  ///< by layer: what its next pass waits for
  HeldParameters waiting_;               ///< gradients whose bucket is not full yet
  std::vector<std::uint32_t> reductions_;
};

}  // namespace fabricast
