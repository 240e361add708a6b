// The stations on the longest way of a slice, by pattern. How many slices there are is left open.
#pragma once

#include "services.hpp"

namespace fabricast {

/// Payload of a whole slice and of the last, shorter one, in bytes; 0 for "as if empty".
struct SliceBytes {
  double whole = 0, tail = 0;
};

/// From the end of some node's chain of GPUs up to the root, and down to the end of another's.
Pipeline tree_path(const Services& services, SliceBytes bytes);

/// Copied in at some node, up to the root by heads and down again, copied out: of the head that takes longest.
Pipeline nvls_path(const Services& services, SliceBytes bytes);

/// Up to the heads of a node, through the switches that reduce, and down again.
Pipeline sharp_path(const Services& services, SliceBytes bytes);

/// From the first rank of a chain, at position `start` of its node, to the last. Nodes are alike, so `nodes` of them may
/// stand for all: network hops have the mean service and the worst pace.
Pipeline chain_path(const Services& services, SliceBytes bytes, int start, std::int64_t nodes);

}  // namespace fabricast
