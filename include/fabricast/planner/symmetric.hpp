// Which kernel NCCL runs on symmetric memory, and how long it believes it takes [NCCL-symmetric].
//
// These kernels bypass the tuning table: NCCL weighs them with an estimator of its own, and where one of them can run the
// ordinary algorithms are not asked. A kernel on b thread blocks moves `bus` bytes over the GPU's links:
//
//   rate = softmin( b * block_rate * multiplier, peak )
//   time = base + softplus( bus / rate - 1 us )
//
// softmin(x, c) = c - w ln(1 + (e^(c/w) - 1) e^(-x/w)) with w = block_rate; softplus(x) = ln(1 + e^x) in us. NCCL takes
// the fewest blocks within 2.5 % of the time on all of them, and the kernel with the least time * (1 + 0.025 b).
//
// One formula stands for all versions from 2.27 on. It is that of 2.29 and 2.30; 2.27 looks times up in a table.
#pragma once

#include <string>
#include <vector>

#include "fabricast/planner/planner.hpp"

namespace fabricast {

/// \param bytes  of one rank's contribution, as the estimator counts them
/// \param blocks  so many; 0: as NCCL chooses
SymmetricRun estimate_symmetric(SymmetricKernel kernel, int compute_capability, std::int64_t ranks, std::int64_t bytes,
                                int blocks = 0);

/// Why an operation has no symmetric kernel here; empty if it has.
/// \param bytes  as nccl-tests counts them
std::string without_symmetric(const Planner& planner, CollectiveOp op, std::int64_t bytes);

}  // namespace fabricast
