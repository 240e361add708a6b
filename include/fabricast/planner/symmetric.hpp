// Which kernel NCCL runs on symmetric memory, and NCCL's estimate of its time [NCCL-symmetric].
//
// These kernels bypass the tuning table. NCCL has a separate estimator for them, and if one of them can run, it does
// not consider the ordinary algorithms. A kernel on b thread blocks moves `bus` bytes over the GPU's links:
//
//   rate = softmin( b * block_rate * multiplier, peak )
//   time = base + softplus( bus / rate - 1 us )
//
// softmin(x, c) = c - w ln(1 + (e^(c/w) - 1) e^(-x/w)) with w = block_rate; softplus(x) = ln(1 + e^x) in us. NCCL takes
// the fewest blocks within 2.5 % of the time with all of them, and the kernel with the lowest time * (1 + 0.025 b).
//
// One formula, that of 2.29 and 2.30, is used for all versions from 2.27 on; 2.27 itself has a table of times.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>
#include <vector>

#include "fabricast/planner/planner.hpp"

namespace fabricast {

/// NCCL's estimate for a kernel. \param bytes  contribution of one rank
/// \param blocks  number of thread blocks; 0: as NCCL chooses
SymmetricRun estimate_symmetric(SymmetricKernel kernel, int compute_capability, std::int64_t ranks, std::int64_t bytes,
                                int blocks = 0);

/// The reason why a call has no symmetric kernel; empty if it has one. \param bytes  counted as in nccl-tests
std::string without_symmetric(const Planner& planner, CollectiveOp op, std::int64_t bytes);

}  // namespace fabricast
