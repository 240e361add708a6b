// Serving engines: what an inference framework of a certain release does, and what it costs.
//
// Facts (how prompts are scheduled, which kernels run) are plain members; what is measured is a Parameter. A set that is
// `like` another inherits the parameters that it does not state, so releases share what nothing tells apart. Values:
// models/hardware/data/serving.json and, fitted, fitted_serving.json.
//
// Not modelled: several engines behind a router that balances by cache, adapters (LoRA), guided decoding.
#pragma once

#include <string>
#include <vector>

#include "fabricast/hardware/stack.hpp"

namespace fabricast {

struct ServingStack {
  std::string name, summary, source;
  std::string like;  ///< set whose parameters count where there are none
  Framework framework = Framework::vllm;
  int year = 0;          ///< of several of a framework the newest is its default
  int tokens = 0;        ///< most tokens of a pass that has prompts
  bool mixed = false;    ///< prompts go into passes that decode; else they have passes of their own, which come first
  bool chunked = false;  ///< prompts are cut to fill a pass
  double reserves = 1;   ///< part of its output that a request is admitted with room for
  bool memory_of_free = false;  ///< `memory` counts of what weights and workspace leave free; else of all
  bool own_all_reduce = true;   ///< small all-reduces inside an NVLink domain run as one kernel of the engine's own
  // Kernels besides GEMMs; all of a layer.
  int attention_kernels = 0;  ///< of half a layer: norm, rotation, attention, cache
  int latent_kernels = 0;     ///< more with latent attention: into and out of the latent space, head by head
  int ffn_kernels = 0;        ///< of half a layer: norm, activation
  int expert_kernels = 0;     ///< more with experts: router, order of tokens, and back
  int cast_kernels = 0;       ///< more with 8 bits and fewer, of half a layer
  int sampling_kernels = 0;   ///< of a pass
  // Traffic of element-wise kernels, B per token and element of width.
  double outside = 0;    ///< per hidden element, of a layer: norms, residuals
  double attention = 0;  ///< per element of queries, and of keys (or values)
  double ffn = 0, gated_ffn = 0;
  double cast = 0;   ///< per element that GEMMs read, where they read 8 bits or fewer
  double logit = 0;  ///< per logit: sampling
  // What is measured.
  Parameter gemm;            ///< rate of GEMMs, relative to the GPU's
  Parameter attention_rate;  ///< rate of attention, relative to the GPU's
  Parameter small_kernel;    ///< us of a kernel besides GEMMs, however little it does, beside the gap to the next
  Parameter expert_rate;     ///< rate of GEMMs of experts, relative to the GPU's of well-filled ones
  Parameter expert_fixed;    ///< us of a layer with experts beside its kernels: routing and order of tokens
  Parameter kernel_launch;   ///< us of the host per kernel, without CUDA graphs
  Parameter layer_launch;    ///< us of the host per layer beside its kernels, without CUDA graphs
  Parameter expert_launch;   ///< us more per layer with experts
  Parameter dispatch;        ///< us that tokens take to or from their experts' ranks beside the collective
  Parameter collective;      ///< us of a collective in a pass beside its own time: ranks wait for their slowest
  Parameter reduce_start;    ///< start of an own all-reduce, relative to that of a collective of NCCL on the GPU
  Parameter reduce_rate;     ///< share of NVLink's rate that an own all-reduce reads at
  Parameter reduce_launch;   ///< us of the host per own all-reduce, without CUDA graphs
  Parameter step_fixed;      ///< us of the host per pass: schedule, inputs, what comes out
  Parameter sequence_fixed;  ///< the same per sequence
  Parameter request_fixed;   ///< us of a request outside of passes: its way to the engine, and of tokens to the client
  Parameter request_serial;  ///< us of it during which no other request of the engine gets on
  Parameter transfer_fixed;  ///< us more where prompts have GPUs of their own: routing, memory, completion
  Parameter interference;    ///< part of its speed that computation loses to a collective beside it
  Parameter memory;          ///< part of a GPU's memory that is used, or of what is left for the cache
};
std::vector<ParameterRef> parameters(ServingStack& stack);

}  // namespace fabricast
