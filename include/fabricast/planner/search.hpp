// NCCL's search for channels on a node: ladder of speeds, order of relaxations, duplication, and what is made of the
// result for a communicator.
//
// The search runs on the node's layout, be it the usual one of its kind or that of a topology file, with NCCL's own
// bandwidths and limits of steps, so that it finds what NCCL finds [NCCL-search]. What NCCL_GRAPH_FILE gives is taken
// instead, as NCCL does.
#pragma once

#include <memory>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// What has been found, for all who ask the same of nodes wired alike (models/planner/search_store.hpp).
class SearchStore;
std::shared_ptr<SearchStore> make_search_store();

/// Whether a GPU may send by a NIC through a GPU that is near it: needs NVLink and a NIC that reads GPU memory
/// [NCCL-paths].
bool uses_pxn(const Node& node, const NcclSettings& settings);
/// Distance of the GPU that is farthest from the NIC it uses; PXN if it may go through a GPU that is near one.
PathType nic_distance(const Node& node, bool pxn);

/// Whether NCCL asks the fabric's switches to reduce (CollNet), `nodes` NCCL nodes being there.
bool uses_collnet(const Node& node, std::int64_t nodes, const NcclSettings& settings);

/// \param nodes number of NCCL nodes (NVLink domains)
/// \param store  what has been found, and takes what is; null: all is searched for
SearchGraphs search_graphs(const Node& node, std::int64_t nodes, const NcclSettings& settings,
                           SearchStore* store = nullptr);

}  // namespace fabricast
