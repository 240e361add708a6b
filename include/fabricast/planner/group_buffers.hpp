// GPU memory of NCCL's buffers for the communicators of a step, by algorithm, from their shape alone. For one
// communicator whose channels are known, buffer_memory.hpp counts the connections of each rank.
//
// NCCL allocates the buffers of a connection when it connects; from 2.22 on it connects an algorithm when it first runs.
// A connection between two GPUs of a node has one buffer per protocol. A connection over the network has those of the
// receiver and, on the sender, all but the one of LL, which lies in host memory [NCCL-buffers]. NVLS has two buffers
// per channel and GPU of the node, which depend on NVLS's own chunk, not on NCCL_BUFFSIZE.
//
// Results are means over the GPUs of a communicator, in whole bytes: GPUs at NICs have more than others.
//
// Pure functions; safe to call concurrently.
//
// Not counted: sends and receives, CollNet, PAT, memory of the network plugin, and communicators that share resources
// (ncclCommSplit with splitShare). GPUs without peer access use host memory instead.
#pragma once

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// The shape of a communicator.
struct BufferedGroup {
  std::int64_t nodes = 1, gpus = 1;  ///< gpus: per node
  int channels = 1;
  bool gdr = true;  ///< without GPUDirect RDMA, buffers of network connections lie in host memory
};

/// Buffers for rings; the mean over all GPUs.
Bytes ring_buffers(const BufferedGroup& group, const NcclSettings& settings);
/// What trees need in addition to rings: inside a node a chain shares the connections of its ring in one direction.
Bytes tree_buffers(const BufferedGroup& group, const NcclSettings& settings);
/// Buffers for NVLS on the GPUs of a node. \param chunk  of NVLS
Bytes nvls_buffers(const BufferedGroup& group, Bytes chunk);

}  // namespace fabricast
