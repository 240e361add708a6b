// Aggregation trees: the switches that reduce data on its way through the fabric, as SHARP does [SHARP-manual].
//
// A tree connects a set of NIC ports. Each port sends its data up, every switch adds what its children send, and the
// root sends the sum back down. Each cable of the tree therefore carries the data once in each direction. In a Clos
// network a tree uses one uplink of every leaf, and all trees with the same number use the same spines.
//
// The switches' generation limits how many trees can run: Quantum (HDR) streams one tree at a time in each switch,
// Quantum-2 (NDR) and later one per port. Short messages use other, low-latency trees. These limits belong to the
// planner; here a tree is only its links.
//
// Pure functions; safe to call concurrently. Links that are down are not avoided.
#pragma once

#include <vector>

#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// A tree over some NIC ports. Empty if it has no links.
struct AggregationTree {
  std::vector<LinkId> links;       ///< both directions of every cable, ascending
  std::vector<VertexId> switches;  ///< ascending
  int levels = 0;                  ///< switches on the longest path from a port to the root, root included
  Seconds latency;                 ///< of the longest path: from a port up to the root and down again
};

/// The tree number `index` over a set of endpoints. Different numbers use different uplinks in turn. In a Clos network
/// the tree is as low as the endpoints allow. In a fabric from a file the root is a switch of the highest tier, and
/// paths to it are the shortest.
/// \returns an empty tree if the fabric does not connect the endpoints, or if there are none
AggregationTree aggregation_tree(const Fabric& fabric, const std::vector<std::uint32_t>& endpoints,
                                 std::uint32_t index);

}  // namespace fabricast
