// Scaling recipes of 8-bit and 4-bit numbers, and the memory traffic of a cast under each.
//
// A cast reads 16 bits of an element and writes the result twice, by rows for one GEMM of the backward pass and by
// columns for the other. A recipe that must know the largest value first reads the element once more. Scales are
// written with the elements. Bytes per element:
//
//   delayed    one scale per tensor, from the largest values of earlier steps: one pass   2 + 1 + 1
//   current    one scale per tensor, from its largest value: a pass to find it            2 + 2 + 1 + 1
//   rowwise    one scale per row of each GEMM's operand: one pass by rows, which fit on   (2 + 1 + 2 + 2 + 1)
//              chip; two passes by columns, which are as long as there are tokens
//   blockwise  one 32-bit scale per 128 elements                                          2 + 1 + 1 + 2 x 4/128
//   mxfp8      one 8-bit scale per 32 elements                                            2 + 1 + 1 + 2 x 1/32
//   nvfp4      one 8-bit scale per 16 4-bit elements, and one per tensor, found by a      2 + 2 + 1/2 + 1/2 + 2 x 1/16
//              pass of its own
//
// `rowwise` is a recipe of torchao, whose kernels a compiler writes. On H100 they reach 2.2 TB/s along rows, 1.4 where they
// write both orders [PyTorch-133242], and 0.65 along columns [PyTorch-149982]. It is stated relative to `current`, at
// these rates.
//
// Sources: [Transformer-Engine], [OCP-MX], [torchao-float8]. Pure functions; safe to call concurrently.
#pragma once

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/kernels.hpp"

namespace fabricast {

/// A scaling recipe. `automatic` stands for the framework's default until a spec is complete.
enum class Scaling { automatic, delayed, current, rowwise, blockwise, mxfp8, nvfp4 };
template <>
struct EnumNames<Scaling> {
  static constexpr std::array<std::string_view, 7> names{"auto",      "delayed", "current", "rowwise",
                                                         "blockwise", "mxfp8",   "nvfp4"};
};

/// Bytes read and written per element of a cast, of `rowwise` those that take as long at the rate of `current`.
double cast_traffic(Scaling scaling);

/// Whether a cast tensor can be gathered along its rows, because its scales hold for all ranks or are sent with it.
/// torchao gathers row-wise scaled tensors at 16 bits, and sharding would cut the blocks of blockwise scaling
/// [torchao-float8], [Transformer-Engine].
inline bool travels_cast(Scaling scaling) { return scaling != Scaling::rowwise && scaling != Scaling::blockwise; }

/// Whether a recipe applies to numbers of that precision.
inline bool scales(Scaling scaling, Precision precision) {
  return precision == Precision::fp4 ? scaling == Scaling::nvfp4
                                     : precision == Precision::fp8 && scaling != Scaling::nvfp4;
}

}  // namespace fabricast
