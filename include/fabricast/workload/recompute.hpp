// What the backward pass computes again instead of keeping it.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// Nothing; the core of attention [Korthikanti2022] or single modules; element-wise kernels and every second product; whole layers.
enum class Recompute { none, selective, ops, full };
template <>
struct EnumNames<Recompute> {
  static constexpr std::array<std::string_view, 4> names{"none", "selective", "ops", "full"};
};

/// Parts of a layer that can be computed again by themselves, in Megatron's words [Megatron-Core-MoE].
enum class RecomputeModule {
  core_attn,    ///< scores and their sum of values
  layernorm,    ///< both norms
  mla_up_proj,  ///< latent attention: queries, keys and values from their latent vectors
  mlp,          ///< the feed-forward part of layers without experts
  moe,          ///< that of layers with experts, the exchange of tokens included
  moe_act,      ///< activation functions of experts
  shared_experts
};
template <>
struct EnumNames<RecomputeModule> {
  static constexpr std::array<std::string_view, 7> names{"core_attn", "layernorm", "mla_up_proj",   "mlp",
                                                         "moe",       "moe_act",   "shared_experts"};
};

/// What the backward pass computes again. `modules` are of Recompute::selective, where none is the core of attention.
struct Recomputed {
  Recompute kind;
  std::vector<RecomputeModule> modules;

  Recomputed(Recompute k = Recompute::none, std::vector<RecomputeModule> m = {}) : kind(k), modules(std::move(m)) {}
  bool has(RecomputeModule module) const {
    if (kind != Recompute::selective) return false;
    if (modules.empty()) return module == RecomputeModule::core_attn;
    return std::find(modules.begin(), modules.end(), module) != modules.end();
  }
};

/// `selective`, or `selective (moe_act, layernorm)`.
std::string to_text(const Recomputed& recomputed);

}  // namespace fabricast
