// A kernel that was timed by itself: what `calibrate fit` learns of a GPU's computation without a training step.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/kernels.hpp"

namespace fabricast {

enum class KernelKind { gemm, flash_forward, flash_backward, decode_attention, stream, optimizer };
template <>
struct EnumNames<KernelKind> {
  static constexpr std::array<std::string_view, 6> names{
      "gemm", "flash_forward", "flash_backward", "decode_attention", "stream", "optimizer"};
};

/// Sizes as those of the function of the same name (workload/kernels.hpp).
struct KernelCase {
  std::string gpu;
  KernelKind kind = KernelKind::gemm;
  Precision precision = Precision::bf16;   ///< of products, or of a cache
  std::int64_t m = 0, n = 0, k = 0;        ///< gemm
  std::int64_t count = 1;                  ///< products side by side
  std::int64_t heads = 0, kv_heads = 0;    ///< attention
  std::int64_t head_dim = 128;             ///< of keys and of values
  std::int64_t sequences = 1, tokens = 0;  ///< of each; of decode_attention: those that are cached
  bool causal = true;
  std::int64_t bytes = 0;   ///< stream, optimizer: read and written together
  bool short_loop = false;  ///< gemm: timed before the power limit slows the clock (`burst`)
  bool gap = false;         ///< timed back to back: the gap to the next kernel is in the time
};

/// From JSON. \throws std::invalid_argument with the key that is wrong
KernelCase kernel_case(const std::string& json);
/// s of the kernel, alone, and of the gap after it if it was timed with that.
/// \throws UserError if the GPU is unknown, or has no such precision
double kernel_seconds(const KernelCase& kernel, const Hardware& hardware);

}  // namespace fabricast
