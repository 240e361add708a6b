// How crowded the connections of a tree are while slices pass them.
//
// All nodes begin at once. Slices come to a node's parent when they have come from its own children, and down from there;
// with a the seconds of its chain of GPUs, h_n those of the connection above node n,
//
//   up(n)   = max( a, max over children c of up(c) + h_c )
//   down(n) = max over children r of the root of ( up(r) + h_r ) + sum of h on the way from the root to n's parent   (1)
#pragma once

#include "edge_contention.hpp"
#include "longest_path.hpp"

namespace fabricast {

/// Of a channel's connections, in their order; empty where they are too many to be looked at one by one.
/// \param slices  that pass, of so many bytes
std::vector<EdgeContention> tree_contentions(const Services& services, double bytes, double slices, const TreeLayout& layout);

}  // namespace fabricast
