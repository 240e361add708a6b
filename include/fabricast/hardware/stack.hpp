// Stacks: what a generation of a training framework does, and what it costs.
//
// Facts (which kernels are fused, which collectives overlap computation) are plain members. Measured quantities are
// Parameters. A stack is named after its framework and release, and is the same on all GPUs.
// Values: models/hardware/data/stacks.json and, fitted, fitted_steps.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/hardware/parameter.hpp"

namespace fabricast {

/// Frameworks for training and serving.
enum class Framework { megatron, nemo, fsdp, ddp, deepspeed, vllm, tensorrt_llm, sglang };
template <>
struct EnumNames<Framework> {
  static constexpr std::array<std::string_view, 8> names{"megatron",  "nemo", "fsdp",         "ddp",
                                                         "deepspeed", "vllm", "tensorrt_llm", "sglang"};
};

/// A generation of a training framework. A plain value.
struct Stack {
  std::string name, summary, source;
  std::string like;  ///< stack from which missing parameters are inherited
  Framework framework = Framework::megatron;
  int year = 0;  ///< the newest stack of a framework is its default
  // What it does.
  bool fused_attention = true;   ///< flash attention; else separate GEMMs, softmax, mask and dropout
  bool flash_2 = false;          ///< flash attention is FlashAttention 2 whatever the GPU; else the GPU's own kernel
  bool grouped_experts = false;  ///< one kernel for the GEMMs of all local experts, which learns their sizes on the GPU
  bool measured_experts = false;   ///< whether steps of MoE models are among the data of the fit
  bool fused_accumulation = true;  ///< GEMMs accumulate weight gradients; else a separate pass does
  bool fused_loss = false;         ///< one kernel from 16-bit logits to their gradient; else a 32-bit softmax is kept
  bool hides_tensor_backward = true;  ///< weight-gradient GEMMs overlap collectives of tensor parallelism
  /// Tensor parallelism gathers GEMM inputs after the cast to 8 bits if the scaling recipe allows it; else in 16 bits.
  bool gathers_cast = false;
  /// A collective concatenates shards of sequences, and a copy of the whole tensor restores the order. An overlapped
  /// collective is split and needs no copy.
  bool reorders_parts = false;
  /// Full recomputation of a dense layer ends before its last GEMM and the collective behind it, because no gradient
  /// needs their result: compilers leave out what nothing reads, and PyTorch's checkpoints stop early since 2.1. Else it
  /// repeats the whole forward pass.
  bool ends_recompute_early = false;
  /// One compiler plans the memory of the whole step, as XLA does: tensors that are not alive at the same time share
  /// memory, nothing is lost to fragmentation, and what recomputation gives again is not kept for later kernels.
  bool plans_memory = false;
  /// With tensor parallelism, norms of queries and keys gather all heads on every rank (Transformer::qk_norm).
  bool gathers_normed_heads = false;
  /// A later release mended what sets this one apart, so it is not the default of its framework.
  bool superseded = false;
  bool compiled = true;  ///< element-wise kernels are fused, by a compiler or by hand
  bool overlaps_data = false, overlaps_tensor = false, overlaps_pipeline = false;  ///< defaults of `overlap`
  int zero = 0;                                                                    ///< default of `parallel.zero`
  int gradient_bytes = 4;  ///< bytes of a gradient when it is reduced
  /// ZeRO 1 and 2 assign whole tensors to ranks: gradients are all-reduced, and each owner broadcasts its tensors.
  /// Otherwise each rank has a slice of all tensors: gradients are reduce-scattered, parameters all-gathered.
  bool owns_tensors = false;
  /// ZeRO 1 and 2 all-reduce gradients, although each rank updates a slice only; parameters are all-gathered.
  bool all_reduces_gradients = false;
  bool current_scaling = false;    ///< default scaling of fp8 is current; else delayed
  std::int64_t bucket = 25 << 20;  ///< bytes, default of `overlap.bucket`
  // Memory traffic of element-wise kernels, in bytes per token and element of width, forward. Backward has twice that.
  double outside = 22;            ///< per hidden element: norms, dropout, residuals
  double attention = 8;           ///< per element of queries and of keys (or values)
  double ffn = 4, gated_ffn = 6;  ///< per element of the feed-forward width
  double logit = 24;              ///< per logit, forward and backward
  // Measured.
  Parameter gemm;            ///< rate of GEMMs, relative to the GPU's
  Parameter gemm_4;          ///< rate of 4-bit GEMMs, in addition to `gemm`
  Parameter attention_rate;  ///< rate of attention, relative to the GPU's
  Parameter eager;           ///< element-wise traffic without a compiler, relative to compiled
  Parameter tensor_exposed;  ///< with overlap.tensor: exposed fraction of tensor parallel collectives
  /// Bytes per element cast to 8 bits with delayed scaling, of GEMM inputs that norms and activations have not already
  /// cast. Other recipes scale with their traffic (cast_traffic in scaling.hpp).
  Parameter cast;
  Parameter expert_cast;      ///< the same for GEMM inputs of experts
  Parameter context_exposed;  ///< exposed fraction of context parallel collectives
  Parameter expert_exposed;   ///< with overlap.expert: exposed fraction of dispatch and combine
  /// Balance of attention among context parallel ranks. 0: equal; 1: as if sequences were split in order.
  Parameter context_imbalance;
  Parameter interference;  ///< fraction of its speed that computation loses to 16 channels of a collective
  Parameter accumulation;  ///< bytes per parameter and micro-batch to accumulate gradients, beyond what GEMMs add
  Parameter optimizer;     ///< bytes per parameter of the optimizer
  Parameter layer_launch;  ///< us per layer and forward pass that the GPU waits for its host; backward twice that
  Parameter launch;  ///< us of host time to launch half a layer, in each direction; the host runs ahead of the GPU
  Parameter router_launch;  ///< us of host time to launch router, permutation and preparation of the dispatch
  Parameter fused_launch;   ///< the same if the dispatch also permutes tokens (HybridEP)
  Parameter expert_launch;  ///< us of host time to launch a GEMM of a local expert
  Parameter step_fixed;     ///< s per step: data, synchronization with the host, logging
  Parameter jitter;         ///< relative standard deviation of a layer's time; groups wait for their slowest rank
  Parameter spread;         ///< standard deviation of ln(measured / forecast) of steps if all else is known
};
/// The parameters of a stack with names, units and descriptions.
std::vector<ParameterRef> parameters(Stack& stack);

}  // namespace fabricast
