// Queues the passes of a stage's layers: their kernels, and the collectives of tensor, context and expert parallelism.
#pragma once

#include "fabricast/workload/layer.hpp"
#include "stage_queue.hpp"

namespace fabricast {

/// Indices of the groups in which the layers of a stage communicate. Unused ones are 0.
struct LayerGroups {
  std::uint32_t tensor = 0, context = 0, expert = 0;
  /// For dispatchers that forward tokens inside a domain: the ranks of an expert group in one domain, and the ranks at
  /// the same position of all domains.
  std::uint32_t within = 0, between = 0;
  int domains = 1;
};

/// Queues the layers of one stage.
class LayerPasses {
 public:
  LayerPasses(const TrainingStep& step, ProgramBuilder& builder, StageQueue& queue, const LayerGroups& groups);

  /// Queue `count` equal layers, one after the other.
  void forward(bool experts, int count);
  void backward(bool experts, int count, bool with_weights);
  /// The weight gradients that `backward` skipped.
  void weights(bool experts, int count);
  /// Copies the activations of `count` layers to host memory while the layers queued next run. The layers after those
  /// wait for the copy.
  void offload(bool experts, int count);
  /// Copies activations back while the layers queued next run. \returns what the layers that need them wait for
  std::uint32_t fetch(bool experts, int count);
  void embedding(bool backward);
  void vocabulary(bool backward);
  /// The GEMM and norms ahead of the layer of a module of multi-token prediction.
  void join_tokens(bool backward);
  /// All-gathers received activations, of which each tensor parallel rank received a shard.
  void gather_received();

 private:
  bool sends_again() const;
  void again(bool experts, int count);
  /// \param to_end  false: without the last GEMM and the collective behind it
  void forward_half(const HalfLayer& half, bool experts, int count, Part part, const char* what, bool to_end = true);
  void backward_half(const HalfLayer& half, bool experts, int count, bool with_weights, const char* what);
  void move_tokens(int count, bool back);
  std::vector<std::uint32_t> tokens_beside(int count);
  void wait_for(const std::vector<std::uint32_t>& collectives);
  void send_tokens(double calls, bool back, std::vector<std::uint32_t>& sent);
  void launched(Seconds time, int count, std::uint32_t after = no_activity);
  std::uint32_t circulate_keys(int count, double times);
  std::uint32_t kind(std::uint32_t groups, Part part, CollectiveOp op, double bytes);
  /// \param bytes  per element
  std::uint32_t tensor_kind(CollectiveOp op, double bytes = 2);
  std::uint32_t gathered_kind(bool experts);
  double exposed() const { return step_.overlap_tensor ? step_.stack.tensor_exposed.value : 1; }

  struct KnownKind {
    std::uint32_t groups;
    Part part;
    CollectiveOp op;
    double bytes;
    std::uint32_t kind;
  };

  const TrainingStep& step_;
  ProgramBuilder& builder_;
  StageQueue& queue_;
  LayerGroups groups_;
  LayerTimes dense_, sparse_;
  VocabularyTimes vocabulary_;
  MtpTimes mtp_;
  std::vector<KnownKind> kinds_;
  bool host_bound_ = false;           ///< some block takes longer to launch than to run
  Seconds dense_copy_, sparse_copy_;  ///< to copy what a layer keeps to host memory
  std::uint32_t away_ = no_activity;  ///< copy to host memory in progress
  double slower_ = 1;                 ///< slowdown of layers because groups wait for their slowest rank
};

}  // namespace fabricast
