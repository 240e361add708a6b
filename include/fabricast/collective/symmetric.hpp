// Kernels for symmetric memory [NCCL-symmetric]. Buffers are at the same place of a window on every GPU of an NVLink
// domain, so a kernel loads from its peers and stores to them without channels, slots and copies. The names state how:
//
//   LL        stores data with flags: a single phase, twice the bytes
//   ST, LD    stores to, or loads from, each peer
//   ..MC      the same with multicast or reduction in the NVSwitch
//
// An all_reduce has two phases: AGx.._R gathers everything and reduces it; RSx.._AGx.. scatters sums and gathers them.
//
// Plain values. planner/symmetric.hpp has NCCL's rules for choosing among the kernels and its estimates of their times.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// The kernels in NCCL's order. Their names (EnumNames) are NCCL's, as the variable NCCL_SYM_KERNEL takes them.
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

/// A kernel on a number of thread blocks, with NCCL's own estimate of its time.
struct SymmetricRun {
  SymmetricKernel kernel = SymmetricKernel::all_reduce_ll;
  int blocks = 1;
  double estimate_us = 0;  ///< including the launch
  double least_us = 0;     ///< the same for an empty buffer
};

}  // namespace fabricast
