// Results of NCCL's search: the number of channels, their bandwidth, the order of GPUs and the NICs of each. Plain
// values, with numbers in the units of NCCL, in which it rounds and compares: GB/s and us.
//
// Bandwidths are those that NCCL believes, from its own constants for links [NCCL-topo]. They decide its choices; rates
// of forecasts come from the hardware data instead. The members are those of NCCL's graph files (NCCL_GRAPH_FILE).
#pragma once

#include <vector>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

/// The channels of one algorithm.
struct SearchGraph {
  int channels = 0;                   ///< found by the search; 0: the algorithm is not available
  double bw_intra = 0, bw_inter = 0;  ///< per channel
  double latency_inter = 0;           ///< as stated by the NIC
  /// The longest distance between neighbouring GPUs, and between a GPU and its NIC, that the search had to allow.
  PathType type_intra = PathType::LOC, type_inter = PathType::LOC;
  int cross_nic = 0;          ///< 0: channels keep their NIC; else they may leave a node by another one
  bool same_channels = true;  ///< all channels visit the GPUs in the same order
  TreePattern pattern = TreePattern::balanced;  ///< for trees
  std::vector<ChannelShape> shapes;             ///< one per channel; for NVLS and CollNetDirect the head comes first
};

/// The channels of all algorithms of a communicator.
struct SearchGraphs {
  SearchGraph ring, tree;
  SearchGraph nvls;                           ///< without channels if NVLS is not available
  SearchGraph collnet_chain, collnet_direct;  ///< without channels if CollNet is not available
  int channels = 0;                           ///< of ring and tree collectives, after duplication and limits
};

}  // namespace fabricast
