// Which path through a tree takes longest, for all heads of the nodes at once. In s, for a first slice of b bytes,
//
//   above(n) = above(parent of n) + detour(n) + latency(e) + siblings b alone(e) + GPU + network latency
//   above(root) = 0
//   longest  = max over n of above(n)  +  max over n of below(n)                                                    (1)
//
// e is the connection between n and its parent, upward for `above` and downward for `below`. The pipeline then follows
// the slices on that path alone, as all others should be through earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "edge_contention.hpp"
#include "tree_layout.hpp"

namespace fabricast {

/// Places of all nodes in one of the two trees, and how a channel's edges there are numbered.
struct TreeTable {
  TreeTable(std::int64_t nodes, int index);

  /// Edges are numbered by child node, the root left out, and head, upward ones first.
  std::size_t up_edge(std::size_t child, std::size_t head, std::size_t heads) const {
    return (child - (child > root ? 1 : 0)) * heads + head;
  }
  std::size_t down_edge(std::size_t child, std::size_t head, std::size_t heads) const {
    return (parent.size() - 1) * heads + up_edge(child, head, heads);
  }

  std::vector<std::int32_t> parent;          ///< -1 of the root
  std::vector<std::uint8_t> type, children;  ///< which child of its parent a node is; how many it has
  std::size_t root = 0;
};

struct LongestPath {
  std::size_t up = 0, down = 0;  ///< the nodes where the way to the root begins and where that from it ends
  double length = 0;             ///< s; of the first slice, roughly
};

/// By head.
/// \param bytes   of a slice
/// \param crowds  of the channel's connections, or empty
std::vector<LongestPath> longest_paths(const Services& services, double bytes, const TreeLayout& layout,
                                     const TreeTable& table, const std::vector<EdgeContention>& contentions);

}  // namespace fabricast
