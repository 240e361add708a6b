// NCCL's search for channels on a node: the speeds that it tries, the order in which it relaxes constraints,
// duplication of channels, and the number of channels of a communicator.
//
// The search runs on the node's layout (a usual one or that of a topology file), with NCCL's bandwidths and step
// limits, so it finds what NCCL finds [NCCL-search]. Graphs of NCCL_GRAPH_FILE replace the search, as in NCCL.
//
// Pure functions, safe to call concurrently. The process remembers what it found for recent nodes
// (models/planner/search_store.hpp), because most worlds of a process have the same few.
#pragma once

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Whether GPUs may use PXN: send to a NIC through another GPU close to it. Needs NVLink, and NICs other than sockets
/// [NCCL-paths].
bool uses_pxn(const Node& node, const NcclSettings& settings);
/// The largest distance between a GPU and its NIC; at most PXN if GPUs may send through a GPU close to a NIC.
PathType nic_distance(const Node& node, bool pxn);

/// Whether NCCL uses CollNet, in which switches reduce, for a communicator of `nodes` NCCL nodes.
bool uses_collnet(const Node& node, std::int64_t nodes, const NcclSettings& settings);

/// The channels of a communicator. \param nodes  number of NCCL nodes (NVLink domains)
SearchGraphs search_graphs(const Node& node, std::int64_t nodes, const NcclSettings& settings);

}  // namespace fabricast
