// Software generations: what a training or inference framework of a certain year does, and what it costs.
//
// Facts (which kernels are fused, what runs behind what) are plain members; what is measured is a Parameter. A stack is
// named after its framework and release, and belongs to all GPUs it runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/hardware/parameter.hpp"

namespace fabricast {

enum class Framework { megatron, nemo, fsdp, ddp, deepspeed, vllm, tensorrt_llm, sglang };
template <>
struct EnumNames<Framework> {
  static constexpr std::array<std::string_view, 8> names{"megatron",  "nemo", "fsdp",         "ddp",
                                                         "deepspeed", "vllm", "tensorrt_llm", "sglang"};
};

struct Stack {
  std::string name, summary, source;
  std::string like;  ///< stack whose parameters count where there are none
  Framework framework = Framework::megatron;
  int year = 0;  ///< of several of a framework the newest is its default
  // What it does.
  bool fused_attention = true;     ///< flash attention; else products, softmax, mask and dropout by themselves
  bool fused_accumulation = true;  ///< products add weight gradients to what is there; else a pass of its own
  bool fused_loss = false;         ///< one kernel from 16-bit logits to their gradient; else a 32-bit softmax is kept
  bool hides_tensor_backward = true;  ///< collectives of tensor parallelism run behind products of weight gradients
  /// Tensor parallelism gathers what GEMMs read after it is cast to 8 bits, if its scales allow; else at 16 bits.
  bool gathers_cast = false;
  /// A collective puts parts of sequences one behind the other: a copy of all brings them into order, unless the
  /// collective is overlapped, which takes it apart.
  bool reorders_parts = false;
  bool compiled = true;  ///< element-wise kernels are fused by a compiler, or by hand
  bool overlaps_data = false, overlaps_tensor = false, overlaps_pipeline = false;  ///< defaults of `overlap`
  int zero = 0;                                                                    ///< default of `parallel.zero`
  int gradient_bytes = 4;                                                          ///< of a gradient as it is reduced
  /// ZeRO 1 of whole tensors: gradients are all-reduced, and each owner broadcasts its tensors to the others. Else each
  /// rank has a slice of all: gradients are reduce-scattered, parameters all-gathered.
  bool owns_tensors = false;
  bool current_scaling = false;    ///< numbers of 8 bits are scaled by what they are now; else by what they have been
  std::int64_t bucket = 25 << 20;  ///< B, default of `overlap.bucket`
  // Traffic of element-wise kernels, B per token and element of width, forward; backward is twice that.
  double outside = 22;            ///< per hidden element: norms, dropout, residuals
  double attention = 8;           ///< per element of queries, and of keys (or values)
  double ffn = 4, gated_ffn = 6;  ///< per element of the feed-forward width
  double logit = 24;              ///< per logit, forward and backward
  // What is measured.
  Parameter gemm;            ///< rate of products, relative to the GPU's
  Parameter attention_rate;  ///< rate of attention, relative to the GPU's
  Parameter eager;           ///< element-wise traffic without a compiler, relative
  Parameter tensor_exposed;  ///< with overlap.tensor: part of a collective of tensor parallelism that stays exposed
  /// B per element that is cast to 8 bits with delayed scaling: what products read, and norms and activations have not
  /// cast on their way. Other recipes go with their traffic.
  Parameter cast;
  Parameter expert_cast;      ///< the same of what products of experts read
  Parameter context_exposed;  ///< the same of the exchange of keys and values
  Parameter expert_exposed;   ///< with overlap.expert: part of the exchange of tokens that stays exposed
  /// 0: ranks that share a sequence attend to equally much; 1: in order, the last to most.
  Parameter context_imbalance;
  Parameter interference;  ///< part of its speed that computation loses beside 16 channels of a collective
  Parameter accumulation;  ///< B per parameter and micro-batch, to add gradients up
  Parameter optimizer;     ///< B per parameter of the optimizer
  Parameter layer_launch;  ///< us per layer and pass that the GPU waits for its host; backward twice
  Parameter launch;  ///< us that the host takes to launch half a layer, forward or backward; it runs ahead of the GPU
  Parameter router_launch;  ///< us to launch router, permutation and what prepares the dispatch, forward or backward
  Parameter fused_launch;   ///< the same of router and dispatch where dispatching permutes tokens, too: HybridEP
  Parameter expert_launch;  ///< us to launch a product of a local expert, likewise
  Parameter step_fixed;     ///< s per step: data, synchronization with the host, logging
  Parameter jitter;         ///< standard deviation of a layer's time, relative: groups wait for their slowest
  Parameter spread;         ///< standard deviation of ln(measured / forecast) of steps when all else is known
};
std::vector<ParameterRef> parameters(Stack& stack);

}  // namespace fabricast
