// A kernel that was timed in isolation. `calibrate fit` learns the efficiency of a GPU from such kernels without
// running a training step. Kernels come from `calibrate probe` or from published measurements; a fit compares
// kernel_time with the measured time.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/kernels.hpp"

namespace fabricast {

/// The kernel models of workload/kernels.hpp.
enum class KernelKind {
  gemm,              ///< one GEMM, or a grouped GEMM of equal ones
  flash_forward,     ///< fused attention
  flash_backward,    ///< its backward pass
  decode_attention,  ///< attention of one token per sequence over its cache
  stream,            ///< an element-wise kernel, bound by memory
  optimizer          ///< the update of parameters, bound by memory
};
template <>
struct EnumNames<KernelKind> {
  static constexpr std::array<std::string_view, 6> names{
      "gemm", "flash_forward", "flash_backward", "decode_attention", "stream", "optimizer"};
};

/// The arguments of the kernel model of the same name. Each kind uses only its own.
struct KernelCase {
  std::string gpu;  ///< a name that `node.gpu` accepts
  KernelKind kind = KernelKind::gemm;
  Precision precision = Precision::bf16;   ///< of a GEMM, or of the KV cache in decode attention
  std::int64_t m = 0, n = 0, k = 0;        ///< gemm
  std::int64_t count = 1;                  ///< number of GEMMs in a grouped GEMM
  std::int64_t heads = 0, kv_heads = 0;    ///< attention; kv_heads 0: as many as heads
  std::int64_t head_dim = 128;             ///< of keys and of values
  std::int64_t sequences = 1, tokens = 0;  ///< tokens per sequence; for decode_attention those in the cache
  bool causal = true;                      ///< attention of a token to those before it alone
  bool flash_2 = false;     ///< fused attention in training and prefill: FlashAttention 2, not the GPU's own kernel
  std::int64_t bytes = 0;   ///< stream, optimizer: bytes read plus bytes written
  bool short_loop = false;  ///< gemm: timed before the power limit lowers the clock (`burst`)
  bool gap = false;         ///< timed back to back, so the time includes the gap to the next kernel
};

/// Reads a kernel from JSON.
/// \throws std::exception, with the key that is wrong where the JSON is well-formed
KernelCase kernel_case(const std::string& json);
/// The forecast time of a kernel, with the gap after it if `gap` is set.
/// \throws UserError if the GPU is unknown, or does not support the precision
Seconds kernel_time(const KernelCase& kernel, const Hardware& hardware);

}  // namespace fabricast
