// A pipeline up a tree of nodes and down again.
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
