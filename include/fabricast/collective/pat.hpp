// PAT (parallel aggregated trees): one binomial tree per block, and all trees advance in step [NCCL-PAT].
//
// For the block that rank b owns, let x = (r - b) mod n be the distance of rank r from the owner. Rank r is node x of a
// tree in which the parent of x is x - lowbit(x): an edge clears the lowest set bit. An all_gather sends down the
// trees, the longest edges first: on dimension d, rank r sends to rank r + 2^d the blocks from whose owners its
// distance is a multiple of 2^(d+1). A reduce_scatter sends up the trees, the shortest edges first. Edges to distances
// beyond n - 1 do not exist, so n need not be a power of two.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

/// Number of dimensions of n ranks: ceil(log2 n).
int pat_dimensions(std::int64_t ranks);

/// The distances x of all parents on dimension d whose child x + 2^d exists: multiples of 2^(d+1) below n - 2^d.
std::vector<std::int64_t> pat_parents(std::int64_t ranks, int dimension);

/// Number of blocks that are aggregated in one message: a power of two, as many as fit in a chunk.
/// \param share  B of a block that the channel carries
std::int64_t pat_blocks_per_message(const Plan& plan, std::int64_t ranks, std::int64_t share);

}  // namespace fabricast
