// What the backward pass computes again instead of keeping it.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// Nothing; the core of attention [Korthikanti2022]; element-wise kernels and every second product; whole layers.
enum class Recompute { none, selective, ops, full };
template <>
struct EnumNames<Recompute> {
  static constexpr std::array<std::string_view, 4> names{"none", "selective", "ops", "full"};
};

}  // namespace fabricast
