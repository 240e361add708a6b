// Aggregation trees: where the switches of a fabric reduce data on its way [SHARP].
//
// A tree joins a set of NIC ports: each sends up, every switch adds what its children send, the root sends the sum back
// down, so that each cable of the tree carries the data once in each direction. In a Clos network a tree uses one uplink
// of every leaf, and all trees with the same number use the same spines.
//
// What limits it is the switches' generation: Quantum (HDR) streams one tree at a time in each switch, Quantum-2 (NDR)
// and later one per port; short messages take other, low-latency trees.
#pragma once

#include <vector>

#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

struct AggregationTree {
  std::vector<LinkId> links;  ///< both directions of every cable, by id
  std::vector<VertexId> switches;
  int levels = 0;   ///< switches from a port to the root
  Seconds latency;  ///< from a port up to the root and down again
};

/// The tree number `index` over these endpoints; empty if they are not joined. In fabrics from a file the root is a
/// switch of the highest tier, and ways are the shortest.
AggregationTree aggregation_tree(const Fabric& fabric, const std::vector<std::uint32_t>& endpoints, std::uint32_t index);

}  // namespace fabricast
