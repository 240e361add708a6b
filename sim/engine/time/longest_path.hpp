// The longest path through a tree, for all heads of the nodes at once. In s, for a first slice of b bytes,
//
//   above(n) = above(parent of n) + detour(n) + latency(e) + siblings b alone(e) + GPU + network latency
//   above(root) = 0
//   longest  = max over n of above(n)  +  max over n of below(n)                                                    (1)
//
// e is the connection between n and its parent, upward for `above` and downward for `below`. The pipeline then follows
// the slices on this path only, on the assumption that those on all other paths are done earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "edge_contention.hpp"
#include "tree_layout.hpp"

namespace fabricast {

/// The places of all nodes in one of the two trees, and the numbers of a channel's edges there.
struct TreeTable {
  TreeTable(std::int64_t nodes, int index);

  /// Edges are numbered by child node (without the root), then head; upward ones come first.
  std::size_t up_edge(std::size_t child, std::size_t head, std::size_t heads) const {
    return (child - (child > root ? 1 : 0)) * heads + head;
  }
  std::size_t down_edge(std::size_t child, std::size_t head, std::size_t heads) const {
    return (parent.size() - 1) * heads + up_edge(child, head, heads);
  }

  std::vector<std::int32_t> parent;          ///< -1 for the root
  std::vector<std::uint8_t> type, children;  ///< which child of its parent a node is; how many children it has
  std::size_t root = 0;
};

struct LongestPath {
  std::size_t up = 0, down = 0;  ///< nodes where the path to the root begins and where the path from it ends
  double length = 0;             ///< s; approximate time of the first slice
};

/// The longest paths, by head.
/// \param bytes        B of a slice
/// \param contentions  of the channel's connections, or empty
std::vector<LongestPath> longest_paths(const Services& services, double bytes, const TreeLayout& layout,
                                       const TreeTable& table, const std::vector<EdgeContention>& contentions);

}  // namespace fabricast
