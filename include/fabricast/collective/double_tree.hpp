// NCCL's double binary tree over nodes [Sanders2009] [NCCL-trees]: two trees such that a node that is inside one is a
// leaf of the other, so that together they load every NIC alike.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "fabricast/collective/schedule.hpp"

namespace fabricast {

struct TreePlace {
  std::int64_t parent = -1;
  int child_type = 0;  ///< which child of its parent it is: 0 if its number is the smaller one
  std::array<std::int64_t, 2> children{-1, -1};  ///< by type
  int neighbours() const { return (parent >= 0) + (children[0] >= 0) + (children[1] >= 0); }
};

/// Place of `node` in tree `index` (0 or 1) of `nodes` nodes. \pre 0 <= node < nodes
TreePlace double_tree(std::int64_t nodes, std::int64_t node, int index);

/// Nodes with the same neighbours in both trees have the same role.
std::uint64_t double_tree_role(std::int64_t nodes, std::int64_t node);

/// Connections of a tree for some NICs of every node: all that go up by child node and NIC, and then down.
void double_tree_edges(std::int64_t nodes, int index, std::span<const int> nics, const EdgeSink& sink);

/// Position in a node's chain where children of a type attach: with the balanced pattern the first child sits at the
/// second GPU [NCCL-trees-4.3].
int child_position(TreePattern pattern, int gpus, int type);

/// Depth of the tree in edges.
int tree_depth(std::int64_t nodes);

}  // namespace fabricast
