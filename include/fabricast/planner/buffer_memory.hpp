// The memory of NCCL's connection buffers on a GPU, for one communicator.
//
// NCCL allocates buffers by connection, whether a call uses them or not. A rank has a connection in each channel with
// each peer that it sends to or receives from; ring and tree share it if they have the peer in common. Each connection
// has a buffer of every protocol:
//
//     inside a node     at the receiver
//     over the network  at both ends, in GPU memory with GPUDirect RDMA, but for LL at the sender; else in host memory
//
//     bytes = sum over channels of  receives x (LL + LL128 + Simple)  +  sends over the network x the same            (1)
//
// Source: [NCCL-buffers]. Pure functions; safe to call concurrently.
// Not modelled: buffers of NVLS, CollNet and SHARP, those of sends and receives, whose connections are made when they
// are first used, and direct reads between Ampere GPUs, for which the sender has the Simple buffer.
#pragma once

#include "fabricast/collective/communicator.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Sizes of a connection's buffers.
struct BufferSizes {
  Bytes ll, ll128, simple;
  /// Of one connection: it has the buffers of all protocols.
  Bytes all() const { return ll + ll128 + simple; }
};
/// NCCL's defaults, or those of NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE and NCCL_BUFFSIZE.
BufferSizes buffer_sizes(const NcclSettings& settings);

/// Connections of a rank, summed over its channels.
struct BufferedConnections {
  int received = 0;  ///< with GPUs of its node
  int network_received = 0, network_sent = 0;
};
/// Connections of rings and trees. \param rank  of the communicator
BufferedConnections buffered_connections(const Communicator& comm, std::int64_t rank);

/// Where buffers are.
struct BufferMemory {
  Bytes gpu, host;
};
/// (1). \param gdr  whether NICs use GPUDirect RDMA
BufferMemory buffer_memory(const BufferedConnections& connections, const BufferSizes& sizes, bool gdr);

}  // namespace fabricast
