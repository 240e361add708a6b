// A pipeline up a binary tree of nodes and down again, in NCCL's double tree [Sanders2009].
//
//   T = makespan of the pipeline over the longest path to the root and from it (tree_path.cpp)                      (1)
#include "timing.hpp"

namespace fabricast {

Timing tree_timing() {
  return {
      .name = "tree", .summary = "a pipeline up a tree of nodes and down again", .makespan = makespan_along<tree_path>};
}

}  // namespace fabricast
