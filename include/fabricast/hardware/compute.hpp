// Compute performance of GPUs: data sheets by kind of GPU, and the efficiency that kernels reach by generation.
//
// Peaks are dense rates, without sparsity. Efficiencies are Parameters with an interval and a source, shared by all
// kinds of GPU of a generation (architecture). What depends on software is in Stack and ServingStack (stack.hpp,
// serving_stack.hpp). docs/models/compute.md describes how kernels.hpp uses these numbers.
//
// Plain values and pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/hardware/parameter.hpp"

namespace fabricast {

/// Precision of the operands of GEMMs; also the index into GpuSheet::peak. fp8 and fp4: of linear layers, as the
/// framework's recipe does; the rest keeps 16 bits. GEMMs of integers are not modelled.
enum class Precision {
  fp32,  ///< on the ordinary cores
  tf32,  ///< 32 bits in memory, 19 of them in the matrix cores
  fp16,
  bf16,
  fp8,  ///< with scales per tensor or block (workload/scaling.hpp)
  fp4   ///< NVFP4: blocks of 16 numbers with an 8-bit scale
};
template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::string_view, 6> names{"fp32", "tf32", "fp16", "bf16", "fp8", "fp4"};
};
/// Format of numbers in memory that GEMMs and attention convert to the precision in which they compute: weights and KV
/// caches. So any GPU can hold them in 4 bits.
enum class NumberFormat {
  fp32,
  fp16,
  bf16,
  fp8,
  fp4,   ///< as Precision::fp4
  int8,  ///< a scale per channel or tensor
  int4   ///< groups of 128 numbers share a scale and a zero point, 32 bits together [Lin2024]
};
template <>
struct EnumNames<NumberFormat> {
  static constexpr std::array<std::string_view, 7> names{"fp32", "fp16", "bf16", "fp8", "fp4", "int8", "int4"};
};
/// The format of operands in memory.
constexpr NumberFormat format_of(Precision p) {
  switch (p) {
    case Precision::fp32:
    case Precision::tf32: return NumberFormat::fp32;
    case Precision::fp16: return NumberFormat::fp16;
    case Precision::bf16: return NumberFormat::bf16;
    case Precision::fp8: return NumberFormat::fp8;
    case Precision::fp4: break;
  }
  return NumberFormat::fp4;
}

/// Bytes of a number in memory, without scales.
constexpr double bytes_of(NumberFormat f) {
  constexpr std::array bytes{4., 2., 2., 1., 0.5, 1., 0.5};
  return bytes[static_cast<std::size_t>(f)];
}
constexpr double bytes_of(Precision p) { return bytes_of(format_of(p)); }

/// Bytes of a number with its scales: blocks of 16 NVFP4 numbers share one 8-bit scale [NVIDIA-NVFP4].
constexpr double stored_bytes_of(NumberFormat f) {
  return bytes_of(f) + (f == NumberFormat::fp4 ? 1. / 16 : f == NumberFormat::int4 ? 1. / 32 : 0);
}
constexpr double stored_bytes_of(Precision p) { return stored_bytes_of(format_of(p)); }

/// The data sheet of a kind of GPU. Nominal values: what kernels reach of them is in ComputeModel.
struct GpuSheet {
  std::array<double, 6> peak{};  ///< FLOP/s by Precision; 0: not supported
  int multiprocessors = 0;       ///< SMs
  Bytes memory;                  ///< of one GPU
  BytesPerSecond memory_rate;    ///< reads and writes together
  Watts power;                   ///< for which the peaks are stated
  std::string source;            ///< with a key of docs/references.md
  /// FLOP/s; 0: the GPU does not support the precision.
  double peak_of(Precision p) const { return peak[static_cast<std::size_t>(p)]; }
};

/// Efficiency of kernels on a generation of GPUs. Fractions are at most 1. A GEMM of depth K runs at the fraction
/// gemm_16 x K / (K + gemm_depth) of the peak before tiles and waves are counted; fused attention with L keys per query
/// at flash x L / (L + flash_block).
struct ComputeModel {
  std::string summary;
  std::string like;                ///< generation from which missing parameters are inherited
  Parameter gemm_16;               ///< large GEMMs in fp16, bf16, tf32 or fp32: fraction of the peak
  Parameter gemm_8;                ///< the same in fp8
  Parameter gemm_4;                ///< the same in fp4
  Parameter gemm_depth;            ///< K at which a 16-bit GEMM reaches half of that
  Parameter grouped;               ///< rate of grouped GEMMs (experts), relative to a single GEMM
  Parameter burst;                 ///< rate of a GEMM before the power limit lowers the clock, relative to later
  Parameter gemm_memory;           ///< memory-bound GEMMs: fraction of the memory bandwidth
  Parameter gemm_memory_4;         ///< the same with 4-bit weights
  Parameter decode_memory;         ///< the same for decode attention, which reads the KV cache
  Parameter stream;                ///< the same for element-wise kernels
  Parameter optimizer_stream;      ///< the same for the optimizer
  Parameter kernel_gap;            ///< us between the end of a kernel and the start of the next
  Parameter flash;                 ///< fused attention, forward, heads of 128: fraction of the 16-bit peak
  Parameter flash_backward;        ///< its backward pass: rate relative to forward
  Parameter flash_block;           ///< mean number of keys per query at which it reaches half of that
  Parameter flash_backward_block;  ///< the same for the backward pass
  Parameter flash_2;               ///< FlashAttention 2, which was written for Ampere: rate relative to `flash`
  Parameter flash_head;            ///< cost of a score besides its GEMMs, in dimensions of a head
  Parameter unfused;               ///< attention by separate GEMMs: fraction of the 16-bit peak
  Parameter power_exponent;        ///< GEMM rates scale with (power limit / power) to this exponent
  Parameter stream_power;          ///< power of element-wise kernels, relative to that of the data sheet
  Parameter flash_power;           ///< the same of fused attention

  /// Efficiency of large GEMMs in a precision, as a fraction of its peak.
  const Parameter& gemms(Precision p) const {
    return p == Precision::fp8 ? gemm_8 : p == Precision::fp4 ? gemm_4 : gemm_16;
  }
};
/// The parameters of a model with names, units and descriptions.
std::vector<ParameterRef> parameters(ComputeModel& model);

}  // namespace fabricast
