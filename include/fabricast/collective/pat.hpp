// PAT: parallel aggregated trees, one binomial tree per block, all of them in step [NCCL-PAT].
//
// Of the block that rank b owns, the rank at distance x = (r - b) mod n is the node x of a tree whose edges flip the
// lowest set bit of x: x - lowbit(x) is its parent. An all_gather sends down the trees, far edges first: on dimension d
// rank r sends to rank r + 2^d the blocks of which its distance is a multiple of 2^(d+1). A reduce_scatter sends up, near
// edges first, the other way round. Distances beyond n - 1 do not exist, so n need be no power of two.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

/// Number of dimensions of n ranks: ceil(log2 n).
int pat_dimensions(std::int64_t ranks);

/// Distances of a parent, on dimension d, whose child x + 2^d exists: multiples of 2^(d+1) below n - 2^d.
std::vector<std::int64_t> pat_parents(std::int64_t ranks, int dimension);

/// Blocks in one message: as many as fit in a chunk.
std::int64_t pat_blocks_per_message(const Plan& plan, std::int64_t ranks, std::int64_t share);

}  // namespace fabricast
