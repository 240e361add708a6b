// NCCL's double binary tree in closed form: each node computes its neighbours from its number, so a tree over any
// number of nodes needs no storage. The rules are those of [NCCL-trees]; collectives that use it are tree.cpp and
// nvlstree.cpp.
#include "fabricast/collective/double_tree.hpp"

#include <bit>

namespace fabricast {

namespace {

/// The first tree. With b the lowest set bit of a node, the parent has the bit 2b set instead [NCCL-trees-4.1].
TreePlace binary_tree(std::int64_t nodes, std::int64_t node) {
  TreePlace place;
  if (node == 0) {
    // The only child of the root is the largest power of two below the number of nodes.
    if (nodes > 1) place.children[1] = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(nodes - 1)));
    return place;
  }
  // The height of a node above the leaves is the position of its lowest set bit: odd nodes are leaves. If the parent
  // would lie beyond the last node, the bit is dropped instead, and a right child moves to the next smaller power of
  // two.
  const std::int64_t bit = node & -node;
  std::int64_t up = (node ^ bit) | (bit << 1);
  if (up >= nodes) up = node ^ bit;
  place.parent = up;
  place.child_type = node < up ? 0 : 1;
  std::int64_t low = bit >> 1;
  if (low > 0) {
    place.children[0] = node - low;
    std::int64_t right = node + low;
    while (right >= nodes && low > 0) {
      low >>= 1;
      right = node + low;
    }
    if (low > 0) place.children[1] = right;
  }
  return place;
}

// Applies a change of numbers to all neighbours.
template <class Map>
TreePlace renumber(TreePlace place, Map map) {
  if (place.parent >= 0) place.parent = map(place.parent);
  for (std::int64_t& child : place.children)
    if (child >= 0) child = map(child);
  return place;
}

}  // namespace

TreePlace double_tree(std::int64_t nodes, std::int64_t node, int index) {
  if (index == 0 || nodes < 2) return binary_tree(nodes, node);
  // The second tree mirrors the first for an even number of nodes, and shifts it by one node for an odd number.
  // Children keep their type of the first tree.
  if (nodes % 2 == 0) {
    const auto mirror = [&](std::int64_t x) { return nodes - 1 - x; };
    return renumber(binary_tree(nodes, mirror(node)), mirror);
  }
  const auto shift = [&](std::int64_t x) { return (x + 1) % nodes; };
  return renumber(binary_tree(nodes, (node - 1 + nodes) % nodes), shift);
}

int tree_depth(std::int64_t nodes) {
  int deepest = 0;
  // The deepest leaf is node 1 or one of the last two nodes.
  for (std::int64_t node = nodes - 1; node >= 0 && node >= nodes - 2; --node) {
    int depth = 0;
    for (std::int64_t at = node; at > 0; at = binary_tree(nodes, at).parent) ++depth;
    deepest = depth > deepest ? depth : deepest;
  }
  if (nodes > 2) {
    int depth = 0;
    for (std::int64_t at = 1; at > 0; at = binary_tree(nodes, at).parent) ++depth;
    deepest = depth > deepest ? depth : deepest;
  }
  return deepest;
}

std::uint64_t double_tree_role(std::int64_t nodes, std::int64_t node) {
  std::uint64_t role = 0;
  // Three bits per tree: parent and both children.
  for (const int index : {0, 1}) {
    const TreePlace place = double_tree(nodes, node, index);
    role = role * 8 + (place.parent >= 0 ? 4U : 0U) + (place.children[0] >= 0 ? 2U : 0U) +
           (place.children[1] >= 0 ? 1U : 0U);
  }
  return role;
}

void double_tree_edges(std::int64_t nodes, int index, std::span<const int> nics, const EdgeSink& sink) {
  std::vector<std::int64_t> parents;
  for (std::int64_t node = 0; node < nodes; ++node) parents.push_back(double_tree(nodes, node, index).parent);
  // The order is part of the interface: the flow engine finds the edge of a step by its number.
  for (const bool up : {true, false})
    for (std::size_t node = 0; node < parents.size(); ++node) {
      if (parents[node] < 0) continue;
      const auto child = static_cast<std::uint32_t>(node), above = static_cast<std::uint32_t>(parents[node]);
      for (const int number : nics) {
        const auto nic = static_cast<std::uint16_t>(number);
        sink(up ? NetworkEdge{child, above, nic, nic} : NetworkEdge{above, child, nic, nic});
      }
    }
}

// Balanced trees spread the network edges over two GPUs; in the plain pattern the first GPU has all three.
int child_position(TreePattern pattern, int gpus, int type) {
  if (gpus == 1) return 0;
  switch (pattern) {
    case TreePattern::balanced: return type == 0 ? 1 : 0;
    case TreePattern::split: return 1;
    case TreePattern::tree: return 0;
  }
  return 0;
}

}  // namespace fabricast
