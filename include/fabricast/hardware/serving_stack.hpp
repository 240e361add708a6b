// Serving engines: what a release of an inference framework does, and what it costs.
//
// Facts (how prompts are scheduled, which kernels run) are plain members. Measured quantities are Parameters. A release
// that is `like` another one inherits the parameters that it does not state, so releases share what no measurement
// distinguishes. Values: models/hardware/data/serving.json and, fitted, fitted_serving.json.
//
// Not modelled: several engines behind a router that considers caches, adapters (LoRA), guided decoding.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/hardware/stack.hpp"

namespace fabricast {

/// What moves a KV cache between GPUs: NIXL (over UCX) or Mooncake, which write by RDMA or by copies between GPUs without
/// using SMs, or sends and receives of NCCL; automatic: what the engine uses.
enum class KvLibrary { automatic, nixl, mooncake, nccl };
template <>
struct EnumNames<KvLibrary> {
  static constexpr std::array<std::string_view, 4> names{"auto", "nixl", "mooncake", "nccl"};
};

/// When a KV cache is sent: automatic: as the engine does; each layer while the next one computes; after the whole
/// prompt; each chunk of the prompt while the next one computes. The first words are those of a flag, which it was.
enum class KvStream { automatic, layers, after, chunks };
template <>
struct EnumNames<KvStream> {
  static constexpr std::array<std::string_view, 4> names{"auto", "true", "false", "chunks"};
};

/// A release of a serving engine. A plain value.
struct ServingStack {
  std::string name, summary, source;
  std::string like;  ///< release from which missing parameters are inherited
  Framework framework = Framework::vllm;
  int year = 0;          ///< the newest release of a framework is its default
  int tokens = 0;        ///< maximum tokens of a pass with prompts
  bool mixed = false;    ///< prompts join passes that decode; else they have passes of their own, which run first
  bool chunked = false;  ///< prompts are cut to fill a pass
  double reserves = 1;   ///< fraction of its output for which a request needs room to be admitted
  bool memory_of_free = false;  ///< `memory` is a fraction of what weights and workspace leave free; else of the whole
  bool own_all_reduce = true;   ///< small all-reduces inside an NVLink domain run as a kernel of the engine
  /// Whether `tokens` is of all ranks with attention of their own together, which have equal parts of it.
  bool divides_tokens = false;
  bool merges = false;  ///< dispatch of decoded tokens sends a token once per rank; else once per expert
  KvLibrary kv_library = KvLibrary::nixl;  ///< moves KV caches between GPUs
  KvStream kv_stream = KvStream::after;    ///< when it does
  int kv_block = 16;                       ///< tokens of a block of its paged KV cache
  // Numbers of kernels besides GEMMs, per layer unless stated otherwise.
  int attention_kernels = 0;  ///< of attention: norm, rotation, attention, cache
  int latent_kernels = 0;     ///< additional ones of latent attention: into and out of the latent space, by head
  int ffn_kernels = 0;        ///< of a feed-forward block: norm, activation
  int expert_kernels = 0;     ///< additional ones of MoE: router, permutation of tokens and back
  int cast_kernels = 0;       ///< additional ones per half layer with 8 bits or fewer
  int sampling_kernels = 0;   ///< per pass
  // Memory traffic of element-wise kernels, in bytes per token and element of width.
  double outside = 0;    ///< per hidden element and layer: norms, residuals
  double attention = 0;  ///< per element of queries and of keys (or values)
  double ffn = 0, gated_ffn = 0;
  double cast = 0;   ///< per element of GEMM inputs with 8 bits or fewer
  double logit = 0;  ///< per logit: sampling
  // Measured.
  Parameter gemm;            ///< rate of GEMMs, relative to the GPU's
  Parameter attention_rate;  ///< rate of attention, relative to the GPU's
  Parameter small_kernel;    ///< us, minimum time of a kernel other than a GEMM, without the gap to the next
  Parameter expert_rate;     ///< rate of GEMMs of experts, relative to the GPU's with full tiles
  Parameter expert_rate_4;   ///< the same with weights in 4 bits, for which engines have other kernels
  Parameter expert_fixed;    ///< us per MoE layer besides its kernels: routing and permutation of tokens
  Parameter kernel_launch;   ///< us of host time per kernel, without CUDA graphs
  Parameter layer_launch;    ///< us of host time per layer besides its kernels, without CUDA graphs
  Parameter expert_launch;   ///< additional us of host time per MoE layer
  Parameter dispatch;        ///< us per dispatch or combine besides its collective
  Parameter collective;      ///< us per collective of a pass besides its own time: ranks wait for the slowest
  Parameter reduce_start;    ///< start of the engine's own all-reduce, relative to a collective of NCCL on the GPU
  Parameter reduce_rate;     ///< fraction of NVLink's rate at which the engine's own all-reduce reads
  Parameter reduce_launch;   ///< us of host time per own all-reduce, without CUDA graphs
  Parameter step_fixed;      ///< us of host time per pass: scheduling, inputs, outputs
  Parameter sequence_fixed;  ///< the same per sequence of a pass
  Parameter request_fixed;   ///< us per request outside passes: to the engine, and from it to the client
  Parameter request_serial;  ///< part of it, in us, in which the engine handles no other request
  Parameter transfer_fixed;  ///< additional us per request with disaggregated prefill: routing, memory, completion
  Parameter descriptor;      ///< us of host time to post one descriptor of a KV-cache transfer
  Parameter interference;    ///< fraction of its speed that computation loses to an overlapped collective
  Parameter memory;          ///< fraction of a GPU's memory that the engine uses, or of what is left for the cache
};
/// The parameters of an engine with names, units and descriptions.
std::vector<ParameterRef> parameters(ServingStack& stack);

}  // namespace fabricast
