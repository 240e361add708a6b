// A pipeline up a binary tree of nodes and down again, in NCCL's double tree [Sanders2009].
//
//   T = makespan of the pipeline over the longest path to the root and from it (tree_path.cpp)                      (1)
#include "timing.hpp"

namespace fabricast {

namespace {

double makespan(const Services& services, const Stream& stream, double scale) {
  return makespan_of(tree_path(services, slice_bytes(stream, scale)), stream);
}

}  // namespace

Timing tree_timing() {
  return {.name = "tree", .summary = "a pipeline up a tree of nodes and down again", .makespan = makespan};
}

}  // namespace fabricast
