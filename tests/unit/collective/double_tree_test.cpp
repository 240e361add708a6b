#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "fabricast/collective/double_tree.hpp"

namespace fabricast {
namespace {

bool is_inner(const TreePlace& place) { return place.children[0] >= 0 || place.children[1] >= 0; }

/// Depth of each node by following the children from the root; -1: not reached.
std::vector<int> depths(std::int64_t nodes, int index, std::int64_t root) {
  std::vector<int> depth(static_cast<std::size_t>(nodes), -1);
  depth[static_cast<std::size_t>(root)] = 0;
  std::vector<std::int64_t> front{root};
  while (!front.empty()) {
    const std::int64_t at = front.back();
    front.pop_back();
    for (const std::int64_t child : double_tree(nodes, at, index).children) {
      if (child < 0) continue;
      REQUIRE(depth[static_cast<std::size_t>(child)] == -1);  // one path to each node
      depth[static_cast<std::size_t>(child)] = depth[static_cast<std::size_t>(at)] + 1;
      front.push_back(child);
    }
  }
  return depth;
}

TEST_CASE("the first tree of small numbers of nodes", "[collective]") {
  const auto parents = [](std::int64_t nodes, int index) {
    std::vector<std::int64_t> list;
    for (std::int64_t n = 0; n < nodes; ++n) list.push_back(double_tree(nodes, n, index).parent);
    return list;
  };
  using List = std::vector<std::int64_t>;
  CHECK(parents(1, 0) == List{-1});
  CHECK(parents(2, 0) == List{-1, 0});
  CHECK(parents(2, 1) == List{1, -1});
  CHECK(parents(6, 0) == List{-1, 2, 4, 2, 0, 4});
  CHECK(parents(8, 0) == List{-1, 2, 4, 2, 0, 6, 4, 6});
  CHECK(parents(8, 1) == List{1, 3, 1, 7, 5, 3, 5, -1});  // x -> 7 - x
  CHECK(parents(5, 0) == List{-1, 2, 4, 2, 0});
  CHECK(parents(5, 1) == List{1, -1, 3, 0, 3});  // x -> x + 1 mod 5
}

TEST_CASE("both trees span all nodes, two children each, in logarithmic depth", "[collective]") {
  for (std::int64_t nodes = 1; nodes <= 200; ++nodes)
    for (const int index : {0, 1}) {
      INFO(nodes << " nodes, tree " << index);
      std::int64_t root = -1;
      for (std::int64_t n = 0; n < nodes; ++n) {
        const TreePlace place = double_tree(nodes, n, index);
        if (place.parent < 0) {
          REQUIRE(root == -1);
          root = n;
        } else {
          const TreePlace parent = double_tree(nodes, place.parent, index);
          REQUIRE(parent.children[static_cast<std::size_t>(place.child_type)] == n);
        }
        for (std::size_t type = 0; type < 2; ++type)
          if (place.children[type] >= 0) {
            REQUIRE(double_tree(nodes, place.children[type], index).parent == n);
            REQUIRE(double_tree(nodes, place.children[type], index).child_type == static_cast<int>(type));
          }
      }
      REQUIRE(root >= 0);
      const std::vector<int> depth = depths(nodes, index, root);
      int deepest = 0;
      for (const int d : depth) {
        REQUIRE(d >= 0);
        deepest = std::max(deepest, d);
      }
      const auto log2_up = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(nodes - 1)));
      CHECK(deepest <= log2_up);
      CHECK(tree_depth(nodes) == deepest);
    }
}

TEST_CASE("an inner node of one tree is a leaf of the other", "[collective]") {
  for (std::int64_t nodes = 2; nodes <= 200; ++nodes) {
    int inside_both = 0;
    for (std::int64_t n = 0; n < nodes; ++n) {
      const bool first = is_inner(double_tree(nodes, n, 0)), second = is_inner(double_tree(nodes, n, 1));
      REQUIRE((first || second));
      inside_both += first && second;
    }
    INFO(nodes << " nodes");
    // With an odd number of nodes one more than half of them is inside each tree, so one is inside both.
    CHECK(inside_both == nodes % 2);
  }
}

}  // namespace
}  // namespace fabricast
