// Layers' passes on a stage's queue: products, and the collectives of tensor, context and expert parallelism among them.
#pragma once

#include "fabricast/workload/layer.hpp"
#include "stage_queue.hpp"

namespace fabricast {

/// The groups that a stage's layers communicate in; 0 stands for what is not there.
struct LayerGroups {
  std::uint32_t tensor = 0, context = 0, expert = 0;
  /// Where domains pass tokens on: ranks of an expert group inside a domain, and those in the same place of each.
  std::uint32_t within = 0, between = 0;
  int domains = 1;
};

class LayerPasses {
 public:
  LayerPasses(const TrainingStep& step, ProgramBuilder& builder, StageQueue& queue, const LayerGroups& groups);

  /// `count` equal layers, one after the other.
  void forward(bool experts, int count);
  void backward(bool experts, int count, bool with_weights);
  /// The gradients of weights that `backward` left out.
  void weights(bool experts, int count);
  /// What `count` layers keep goes to host memory beside the layers queued next; those after them wait for it.
  void offload(bool experts, int count);
  /// It comes back beside the layers queued next. \returns what the layers that need it wait for
  std::uint32_t fetch(bool experts, int count);
  void embedding(bool backward);
  void vocabulary(bool backward);
  /// Ahead of the layer of a module of multi-token prediction.
  void join_tokens(bool backward);
  /// Gathers what a stage receives as parts of tensor parallelism.
  void gather_received();

 private:
  bool sends_again() const;
  void again(bool experts, int count);
  void forward_half(const HalfLayer& half, bool experts, int count, Part part, const char* what);
  void backward_half(const HalfLayer& half, bool experts, int count, bool with_weights, const char* what);
  void move_tokens(int count, bool back);
  std::vector<std::uint32_t> tokens_beside(int count);
  void wait_for(const std::vector<std::uint32_t>& collectives);
  void send_tokens(double calls, bool back, std::vector<std::uint32_t>& sent);
  void launched(double seconds, int count, std::uint32_t after = no_activity);
  std::uint32_t circulate_keys(int count, double times);
  std::uint32_t kind(std::uint32_t groups, Part part, CollectiveOp op, double bytes);
  /// \param bytes  of a number
  std::uint32_t tensor_kind(CollectiveOp op, double bytes = 2);
  std::uint32_t gathered_kind(bool experts);
  double exposed() const { return step_.overlap_tensor ? step_.stack.tensor_exposed.value : 1; }

  const TrainingStep& step_;
  ProgramBuilder& builder_;
  StageQueue& queue_;
  LayerGroups groups_;
  LayerTimes dense_, sparse_;
  VocabularyTimes vocabulary_;
  MtpTimes mtp_;
  bool host_bound_ = false;                  ///< launches take longer than the work of some half
  double dense_copy_ = 0, sparse_copy_ = 0;  ///< s of what a layer keeps on its way to host memory
  std::uint32_t away_ = no_activity;         ///< what is on its way to host memory
  double slower_ = 1;                        ///< what layers take longer because groups wait for their slowest rank
};

}  // namespace fabricast
