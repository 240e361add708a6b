// Activation recomputation: what the backward pass computes again instead of keeping it in memory.
//
// Plain values; safe to use concurrently.
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
  none,
  selective,  ///< the core of attention [Korthikanti2022], or the listed modules
  ops,        ///< element-wise kernels and every second GEMM
  full        ///< whole layers
};
template <>
struct EnumNames<Recompute> {
  static constexpr std::array<std::string_view, 4> names{"none", "selective", "ops", "full"};
};

/// Modules of a layer that can be recomputed on their own, with Megatron's names [Megatron-Core-MoE].
enum class RecomputeModule {
  core_attn,    ///< attention scores and the weighted sum of values
  layernorm,    ///< both norms
  mla_up_proj,  ///< latent attention: from latent vectors to queries, keys and values
  mlp,          ///< the feed-forward block of layers without experts
  moe,          ///< the feed-forward block of layers with experts, including dispatch and combine
  moe_act,      ///< activation functions of experts
  shared_experts
};
template <>
struct EnumNames<RecomputeModule> {
  static constexpr std::array<std::string_view, 7> names{"core_attn", "layernorm", "mla_up_proj",   "mlp",
                                                         "moe",       "moe_act",   "shared_experts"};
};

/// A setting of recomputation. `modules` applies to Recompute::selective; an empty list stands for core_attn.
struct Recomputed {
  Recompute kind;
  std::vector<RecomputeModule> modules;

  Recomputed(Recompute k = Recompute::none, std::vector<RecomputeModule> m = {}) : kind(k), modules(std::move(m)) {}
  /// Whether selective recomputation covers the module. Always false for the other kinds.
  bool has(RecomputeModule module) const {
    if (kind != Recompute::selective) return false;
    if (modules.empty()) return module == RecomputeModule::core_attn;
    return std::find(modules.begin(), modules.end(), module) != modules.end();
  }
};

/// `selective`, or `selective (moe_act, layernorm)`.
std::string to_text(const Recomputed& recomputed);

}  // namespace fabricast
