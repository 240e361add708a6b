// Contention on the connections of a tree while slices pass them.
//
// All nodes begin at once. A node sends up when the slices of its children have arrived. With the time a of a node's
// chain of GPUs, and the time h_n of the connection above node n,
//
//   up(n)   = max( a, max over children c of up(c) + h_c )
//   down(n) = max over children r of the root of ( up(r) + h_r ) + sum of h on the path from the root to n's parent (1)
#pragma once

#include "edge_contention.hpp"
#include "longest_path.hpp"

namespace fabricast {

/// The contention of a channel's connections, in their order; empty if there are too many (EdgePaths), or on a single
/// node.
/// \param bytes   B of a slice
/// \param slices  number of slices
std::vector<EdgeContention> tree_contentions(const Services& services, double bytes, double slices,
                                             const TreeLayout& layout);

}  // namespace fabricast
