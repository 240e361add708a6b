// How fast GPUs compute: data sheets by kind of GPU, and what kernels reach of them by generation.
//
// Peaks are dense, without sparsity. Efficiencies are Parameters with interval and source, shared by all kinds of a
// generation (architecture); what belongs to software is in Stack (workload/stack.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/hardware/parameter.hpp"

namespace fabricast {

/// Of matrix operands. fp8 and fp4: linear layers as the framework's recipe has it; the rest stays at 16 bits.
enum class Precision { fp32, tf32, fp16, bf16, fp8, fp4 };
template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::string_view, 6> names{"fp32", "tf32", "fp16", "bf16", "fp8", "fp4"};
};
/// Of an operand in memory.
constexpr double bytes_of(Precision p) {
  return p == Precision::fp32 || p == Precision::tf32 ? 4 : p == Precision::fp8 ? 1 : p == Precision::fp4 ? 0.5 : 2;
}

/// The same with its scales: blocks of 16 numbers of NVFP4 share one of 8 bits [NVIDIA-NVFP4].
constexpr double operand_bytes_of(Precision p) { return bytes_of(p) + (p == Precision::fp4 ? 1. / 16 : 0); }

/// The data sheet of a kind of GPU.
struct GpuSheet {
  std::array<double, 6> peak{};  ///< FLOP/s by Precision; 0: the GPU has none
  int multiprocessors = 0;
  Bytes memory;
  BytesPerSecond memory_rate;
  Watts power;  ///< at which the peaks are stated
  std::string source;
  double peak_of(Precision p) const { return peak[static_cast<std::size_t>(p)]; }
};

/// What kernels reach on a generation of GPUs.
struct ComputeModel {
  std::string summary;
  std::string like;            ///< generation whose parameters count where there are none
  Parameter gemm_16;           ///< large products of fp16 or bf16, tf32 or fp32: part of the peak
  Parameter gemm_8;            ///< the same of fp8
  Parameter gemm_4;            ///< the same of fp4
  Parameter gemm_depth;        ///< K at which a product of 16 bits reaches half of that
  Parameter grouped;           ///< rate of products side by side (experts), relative to a single one
  Parameter burst;             ///< rate of a product before the power limit slows the clock, relative to later
  Parameter gemm_memory;       ///< part of the memory's rate that products reach, bound by it
  Parameter gemm_memory_4;     ///< the same with weights of 4 bits
  Parameter decode_memory;     ///< the same of decode attention, which reads a cache
  Parameter stream;            ///< the same of element-wise kernels
  Parameter optimizer_stream;  ///< the same of the optimizer
  Parameter kernel_gap;        ///< us between a kernel and the next
  Parameter flash;             ///< fused attention, forward, heads of 128: part of the 16-bit peak
  Parameter flash_backward;    ///< its backward, relative to forward
  Parameter flash_block;       ///< keys that a query meets, in the mean, at which it reaches half of that
  Parameter flash_head;        ///< what a score costs beside its products, as so many dimensions of a head
  Parameter unfused;           ///< attention by separate products: part of the 16-bit peak
  Parameter power_exponent;    ///< rates of products go with (power limit / power) to this exponent

  /// Of large products of a precision: part of its peak.
  const Parameter& gemms(Precision p) const {
    return p == Precision::fp8 ? gemm_8 : p == Precision::fp4 ? gemm_4 : gemm_16;
  }
};
std::vector<ParameterRef> parameters(ComputeModel& model);

}  // namespace fabricast
