// Kernels for symmetric memory: buffers that lie at the same place of a window on every GPU of an NVLink domain, so that a
// kernel loads from and stores to its peers without channels, slots and copies [NCCL-symmetric].
//
//   LL        data with flags: one way, twice the bytes
//   ST, LD    stores to, or loads from, each peer
//   ..MC      the same by multicast or reduction in the NVSwitch
//
// all_reduce is made of two: AGx.._R gathers everything and reduces, RSx.._AGx.. scatters sums and gathers them.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// In NCCL's order and with its names, which NCCL_SYM_KERNEL takes.
enum class SymmetricKernel {
  all_reduce_ll,
  all_reduce_llmc,
  all_reduce_ld_st,
  all_reduce_ldmc_stmc,
  all_gather_ll,
  all_gather_llmc,
  all_gather_st,
  all_gather_stmc,
  reduce_scatter_ll,
  reduce_scatter_ld,
  reduce_scatter_ldmc
};
template <>
struct EnumNames<SymmetricKernel> {
  static constexpr std::array<std::string_view, 11> names{
      "AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC",
      "AllGather_LL",      "AllGather_LLMC",      "AllGather_ST",          "AllGather_STMC",
      "ReduceScatter_LL",  "ReduceScatter_LD",    "ReduceScatter_LDMC"};
};

/// A kernel on a number of thread blocks, as NCCL estimates it.
struct SymmetricRun {
  SymmetricKernel kernel = SymmetricKernel::all_reduce_ll;
  int blocks = 1;
  double estimate_us = 0;
  double least_us = 0;  ///< the same for an empty buffer
};

}  // namespace fabricast
