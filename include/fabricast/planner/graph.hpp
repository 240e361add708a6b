// What NCCL's search leaves behind: how many channels, at which speed, in which order of GPUs, by which NICs.
#pragma once

#include <vector>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

struct SearchGraph {
  int channels = 0;
  double bw_intra = 0, bw_inter = 0;  ///< GB/s per channel
  double latency_inter = 0;           ///< us, that the NIC states
  PathType type_intra = PathType::LOC, type_inter = PathType::LOC;
  int cross_nic = 0;
  bool same_channels = true;
  TreePattern pattern = TreePattern::balanced;  ///< of trees
  std::vector<ChannelShape> shapes;             ///< one per channel; of NVLS and CollNet direct the head comes first
};

struct SearchGraphs {
  SearchGraph ring, tree;
  SearchGraph nvls;                           ///< no channels where there is no NVLS
  SearchGraph collnet_chain, collnet_direct;  ///< no channels without CollNet
  int channels = 0;                           ///< channels of ring and tree collectives after duplication and limits
};

}  // namespace fabricast
