// Kernels for symmetric memory [NCCL-symmetric]. Buffers are at the same place of a window on every GPU of an NVLink
// domain, so a kernel loads from its peers and stores to them without channels, slots and copies. The names state how:
//
//   LL        stores data with flags: a single phase, twice the bytes
//   ST, LD    stores to, or loads from, each peer
//   ..MC      the same with multicast or reduction in the NVSwitch
//
// An all_reduce has two phases: AGx.._R gathers everything and reduces it; RSx.._AGx.. scatters sums and gathers them.
//
// Bytes on the links of a GPU, for n ranks and a contribution of S bytes each, flags not counted:
//
//   all_reduce       LL: n S      LD_ST: 2 S (n - 1) / n      LDMC_STMC: S / n loaded, S stored
//   all_gather       LL, ST: (n - 1) S
//   reduce_scatter   LL, LD: (n - 1) S
//
// Plain values. planner/symmetric.hpp has NCCL's rules for choosing among the kernels and its estimates of their times.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// The kernels in NCCL's order, which ties in its choice follow. Their names (EnumNames) are NCCL's, as the variable
/// NCCL_SYM_KERNEL takes them. Those with multicast need NVLS and at least three ranks.
enum class SymmetricKernel {
  all_reduce_ll,         ///< every rank stores its buffer to all others and sums what it gets
  all_reduce_llmc,       ///< the same by multicast
  all_reduce_ld_st,      ///< each rank loads its part of all buffers, sums it and stores the result to all
  all_reduce_ldmc_stmc,  ///< the same with the sum and the copies in the NVSwitch
  all_gather_ll,         ///< stores its block to all others, with flags
  all_gather_llmc,       ///< the same by multicast
  all_gather_st,         ///< stores its block to all others, then synchronizes
  all_gather_stmc,       ///< the same by multicast
  reduce_scatter_ll,     ///< gets its part of all buffers, with flags, and sums it
  reduce_scatter_ld,     ///< loads its part of all buffers and sums it
  reduce_scatter_ldmc    ///< the same with the sum in the NVSwitch
};
template <>
struct EnumNames<SymmetricKernel> {
  static constexpr std::array<std::string_view, 11> names{
      "AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC",
      "AllGather_LL",      "AllGather_LLMC",      "AllGather_ST",          "AllGather_STMC",
      "ReduceScatter_LL",  "ReduceScatter_LD",    "ReduceScatter_LDMC"};
};

/// A kernel on a number of thread blocks, with NCCL's own estimate of its time, in the unit of NCCL: us. The estimate
/// decides which kernel runs; a forecast takes it as the least time of the call (models/collective/symmetric.cpp).
struct SymmetricRun {
  SymmetricKernel kernel = SymmetricKernel::all_reduce_ll;
  int blocks = 1;          ///< the fewest that come within 2.5 % of the fastest, unless NCCL_SYM_CTAS says otherwise
  double estimate_us = 0;  ///< including the launch
  double least_us = 0;     ///< the same for an empty buffer
};

}  // namespace fabricast
