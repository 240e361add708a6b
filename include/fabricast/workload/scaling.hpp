// How numbers of 8 and 4 bits are scaled, by the name of the recipe: what casting them costs beside what they are.
//
// A cast reads 16 bits of an element and writes it twice, by rows for one product and by columns for the other of the
// backward pass; what a recipe has to know first it reads once more. Scales are written with them.
//
//   delayed    one scale for all, of the largest of steps before: one pass              2 + 1 + 1
//   current    one scale for all, of the largest of now: a pass to find it              2 + 2 + 1 + 1
//   rowwise    a scale for each row of either GEMM's operand: one pass by rows, which  2 + 1 + 2 + 2 + 1
//              fit on chip; two by columns, as long as there are tokens
//   blockwise  32-bit scales of 128 elements                                            2 + 1 + 1 + 2 x 4/128
//   mxfp8      8-bit scales of 32 elements                                              2 + 1 + 1 + 2 x 1/32
//   nvfp4      8-bit scales of 16 elements of 4 bits, and one for all: a pass for that  2 + 2 + 1/2 + 1/2 + 2 x 1/16
//
// Sources: [Transformer-Engine], [OCP-MX], [torchao-float8].
#pragma once

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/kernels.hpp"

namespace fabricast {

enum class Scaling { automatic, delayed, current, rowwise, blockwise, mxfp8, nvfp4 };
template <>
struct EnumNames<Scaling> {
  static constexpr std::array<std::string_view, 7> names{"auto",      "delayed", "current", "rowwise",
                                                         "blockwise", "mxfp8",   "nvfp4"};
};

/// B that are read and written of an element.
double cast_traffic(Scaling scaling);

/// Whether what is cast can be gathered along rows: its scales hold for all ranks, or travel with it. torchao gathers
/// rows scaled one by one at 16 bits, and blocks would be cut [torchao-float8], [Transformer-Engine].
inline bool travels_cast(Scaling scaling) { return scaling != Scaling::rowwise && scaling != Scaling::blockwise; }

/// Whether a recipe is of numbers of so many bits.
inline bool scales(Scaling scaling, Precision precision) {
  return precision == Precision::fp4 ? scaling == Scaling::nvfp4
                                     : precision == Precision::fp8 && scaling != Scaling::nvfp4;
}

}  // namespace fabricast
