// The stations on the longest path of a slice, by timing. The number of slices is left open.
#pragma once

#include "services.hpp"

namespace fabricast {

/// B of a whole slice and of a last, shorter one; 0: as if empty.
struct SliceBytes {
  double whole = 0, tail = 0;
  double slices = 1;  ///< their number
};

/// From the end of some node's chain of GPUs up to the root, and down to the end of another's.
Pipeline tree_path(const Services& services, SliceBytes bytes);

/// The slowest head: copied in at some node, by heads up to the root and down again, copied out.
Pipeline nvls_path(const Services& services, SliceBytes bytes);

/// What reduces the data of a node: a chain of GPUs, or heads to which the GPUs send their chunks.
enum class NodePart { chain, heads };
/// Up inside a node, through the switches that reduce, and down again.
Pipeline sharp_path(const Services& services, SliceBytes bytes, NodePart part);

/// Number of nodes of a chain that are timed one by one. In longer chains they stand for the others as well.
constexpr std::int64_t chain_nodes = 16;

/// s; makespan of a chain from its first rank to its last one.
double chain_makespan(const Services& services, const Stream& stream, SliceBytes bytes);

/// s; for calls that are issued back to back, the time per call in excess of the work of the busiest station.
///
/// A rank begins its next call when all of its channels have finished this one. If channels A and B visit ranks r and q
/// in opposite order, r waits for q in one and q for r in the other, so two calls take as long as both paths. With
/// t_c(r) the time at which the first slice of channel c arrives at rank r,
///
///   skew = 1/2 max over A, B of ( max_r (t_A(r) - t_B(r)) + max_r (t_B(r) - t_A(r)) )                              (1)
///
/// Channels that visit all ranks in the same order have no skew: their calls follow each other as fast as links allow.
double chain_skew(const Services& services, const Stream& stream, SliceBytes bytes);

}  // namespace fabricast
