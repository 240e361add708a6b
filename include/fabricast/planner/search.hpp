// The graphs that NCCL's search finds on a node: how many channels, at which speed, in which order of GPUs, by which
// NIC.
//
// This is the arithmetic of the search for regular nodes (GPUs alike, behind an NVSwitch, in an NVLink mesh, or on
// PCIe), not the search itself: speeds come off NCCL's ladders, channels are what the links can feed, and the table of
// [NCCL-search] for such nodes comes out (tested). Irregular machines need the real search over their topology file.
#pragma once

#include <vector>

#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

struct SearchGraph {
  int channels = 0;
  double bw_intra = 0, bw_inter = 0;  ///< GB/s per channel
  PathType type_intra = PathType::LOC, type_inter = PathType::LOC;
  int cross_nic = 0;
  bool same_channels = true;
  TreePattern pattern = TreePattern::balanced;
  std::vector<ChannelShape> shapes;  ///< one per channel
};

struct SearchGraphs {
  SearchGraph ring, tree, nvls;  ///< nvls.channels is 0 where there is no NVLS
  int channels = 0;              ///< channels of ring and tree collectives after duplication and limits
};

/// Whether a GPU may send by a NIC through a GPU that is near it: needs NVLink and a NIC that reads GPU memory
/// [NCCL-paths].
bool uses_pxn(const Node& node, const NcclSettings& settings);
/// Distance of the GPU that is farthest from the NIC it uses; PXN if it may go through a GPU that is near one.
PathType nic_distance(const Node& node, bool pxn);

/// \param nodes number of NCCL nodes (NVLink domains)
SearchGraphs search_graphs(const Node& node, std::int64_t nodes, const NcclSettings& settings);

}  // namespace fabricast
