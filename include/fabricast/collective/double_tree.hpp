// NCCL's double binary tree over nodes [Sanders2009] [NCCL-trees].
//
// Half of a call's data use the first tree and half the second. An inner node of one tree is a leaf of the other (with
// one exception if the number of nodes is odd), so together they load all NICs evenly. For an even number of nodes the
// second tree mirrors the first; for an odd number it is the first one, shifted by one node.
//
// Nodes are numbered from 0 to nodes - 1. A number of -1 means that there is no such neighbour.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "fabricast/collective/schedule.hpp"

namespace fabricast {

/// The neighbours of a node in one of the two trees.
struct TreePlace {
  std::int64_t parent = -1;
  int child_type = 0;                            ///< which child of its parent the node is
  std::array<std::int64_t, 2> children{-1, -1};  ///< by type: in the first tree, type 0 has the smaller number
  /// Number of neighbours, 0 to 3.
  int neighbours() const { return (parent >= 0) + (children[0] >= 0) + (children[1] >= 0); }
};

/// The place of `node` in tree `index` (0 or 1) of `nodes` nodes.
/// \pre 0 <= node < nodes
TreePlace double_tree(std::int64_t nodes, std::int64_t node, int index);

/// A number that is equal for nodes that have the same kinds of neighbours in both trees.
/// \pre 0 <= node < nodes
std::uint64_t double_tree_role(std::int64_t nodes, std::int64_t node);

/// Calls the sink for the connections of tree `index` by some NICs of every node. All upward connections come first, by
/// child node and NIC, then all downward ones in the same order.
void double_tree_edges(std::int64_t nodes, int index, std::span<const int> nics, const EdgeSink& sink);

/// Position in a node's chain of GPUs where children of a type attach: with the balanced pattern the first child
/// attaches at the second GPU [NCCL-trees-4.3].
int child_position(TreePattern pattern, int gpus, int type);

/// Depth of the first tree, in edges. Both trees have the same depth.
int tree_depth(std::int64_t nodes);

}  // namespace fabricast
