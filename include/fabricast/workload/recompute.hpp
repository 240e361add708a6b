// Activation recomputation: what the backward pass computes again instead of keeping it in memory.
//
// It trades time for memory. `full` keeps only the input of each layer and repeats the whole forward pass, about a
// third more computation; `selective` keeps everything except tensors that are large and cheap to compute again. What
// each choice keeps is in models/workload/memory.cpp, and what it repeats in models/workload/layer_passes.cpp.
// Recomputed work is not counted in model FLOPs (training.hpp).
//
// Plain values; safe to use concurrently.
// Not modelled: recomputation of some layers only; a setting applies to all layers of all stages. What linear_qkv gives
// is counted as kept in latent attention and Mamba.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// What is recomputed.
enum class Recompute {
  none,       ///< nothing: the fastest, and the most memory
  selective,  ///< the core of attention [Korthikanti2022], or the listed modules
  ops,        ///< element-wise kernels and every second GEMM, as torchtitan's recipe for 8B [torchtitan-benchmarks]
  full        ///< whole layers
};
template <>
struct EnumNames<Recompute> {
  static constexpr std::array<std::string_view, 4> names{"none", "selective", "ops", "full"};
};

/// Modules of a layer that can be recomputed on their own, with Megatron's names [Megatron-Core-MoE].
enum class RecomputeModule {
  core_attn,      ///< attention scores and the weighted sum of values
  layernorm,      ///< both norms
  linear_qkv,     ///< the first GEMM of attention or Mamba: queries, keys and values
  linear_proj,    ///< the GEMM behind the core of attention
  linear_fc1,     ///< the first GEMM of the feed-forward block, both halves if it is gated, and the activation function
  mla_up_proj,    ///< latent attention: from latent vectors to queries, keys and values
  mlp,            ///< the feed-forward block of layers without experts
  moe,            ///< the feed-forward block of layers with experts, including dispatch and combine
  moe_act,        ///< activation functions of experts
  shared_experts  ///< the feed-forward block that all tokens pass, beside the routed experts
};
template <>
struct EnumNames<RecomputeModule> {
  static constexpr std::array<std::string_view, 10> names{"core_attn",  "layernorm",     "linear_qkv", "linear_proj",
                                                          "linear_fc1", "mla_up_proj",   "mlp",        "moe",
                                                          "moe_act",    "shared_experts"};
};

/// A setting of recomputation. `modules` applies to Recompute::selective; an empty list stands for core_attn.
struct Recomputed {
  Recompute kind;
  std::vector<RecomputeModule> modules;  ///< in any order; not read for the other kinds

  /// Implicit from a kind, because most callers state no modules.
  Recomputed(Recompute k = Recompute::none, std::vector<RecomputeModule> m = {}) : kind(k), modules(std::move(m)) {}
  /// Whether selective recomputation covers the module. Always false for the other kinds.
  bool has(RecomputeModule module) const {
    if (kind != Recompute::selective) return false;
    if (modules.empty()) return module == RecomputeModule::core_attn;
    return std::find(modules.begin(), modules.end(), module) != modules.end();
  }
};

/// `selective`, or `selective (moe_act, layernorm)` if modules are listed. An empty list is not spelled out as
/// core_attn.
std::string to_text(const Recomputed& recomputed);

}  // namespace fabricast
