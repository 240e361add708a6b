// The stations on the longest way of a slice, by timing. How many slices there are is left open.
#pragma once

#include "services.hpp"

namespace fabricast {

/// Payload of a whole slice and of the last, shorter one, in bytes; 0 for "as if empty".
struct SliceBytes {
  double whole = 0, tail = 0;
  double slices = 1;  ///< how many there are
};

/// From the end of some node's chain of GPUs up to the root, and down to the end of another's.
Pipeline tree_path(const Services& services, SliceBytes bytes);

/// Copied in at some node, up to the root by heads and down again, copied out: of the head that takes longest.
Pipeline nvls_path(const Services& services, SliceBytes bytes);

/// What adds up a node's part: a chain of GPUs, or heads that GPUs hand their chunks to.
enum class NodePart { chain, heads };
/// Up inside a node, through the switches that reduce, and down again.
Pipeline sharp_path(const Services& services, SliceBytes bytes, NodePart part);

/// Nodes of a chain that are timed one by one; in longer chains they stand for the others as well.
constexpr std::int64_t chain_nodes = 16;

/// s; from the first rank of a chain, at position `start` of its node, to the last.
double chain_makespan(const Services& services, const Stream& stream, SliceBytes bytes);

/// s; what a call of several that are issued back to back takes longer than its busiest station works.
///
/// A rank begins its next call when all of its channels are through with this one. Where channels A and B visit ranks r
/// and q in opposite order, r waits for q in one and q for r in the other, so two calls take as long as both ways. With
/// t_c(r) the time when the first slice of channel c comes to rank r,
///
///   skew = 1/2 max over A, B of ( max_r (t_A(r) - t_B(r)) + max_r (t_B(r) - t_A(r)) )                              (1)
///
/// Channels that visit all ranks in the same order have none: their calls follow one another as fast as links allow.
double chain_skew(const Services& services, const Stream& stream, SliceBytes bytes);

}  // namespace fabricast
