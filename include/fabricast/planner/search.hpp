// NCCL's search for channels on a node: ladder of speeds, order of relaxations, duplication, and what is made of the
// result for a communicator.
//
// The search runs on the node's layout, be it the usual one of its kind or that of a topology file, with NCCL's own
// bandwidths and limits of steps, so that it finds what NCCL finds [NCCL-search]. What NCCL_GRAPH_FILE gives is taken
// instead, as NCCL does.
#pragma once

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Distance of the GPU that is farthest from the NIC it uses.
PathType nic_distance(const Node& node);

/// Whether GPUs and NICs exchange data without host memory between them.
bool uses_gdr(const Node& node, const NcclSettings& settings);

/// \param nodes number of NCCL nodes (NVLink domains)
SearchGraphs search_graphs(const Node& node, std::int64_t nodes, const NcclSettings& settings);

}  // namespace fabricast
