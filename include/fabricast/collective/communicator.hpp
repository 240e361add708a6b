// The ranks of a job as NCCL sees them, and the plan of one call: what a schedule is made from.
//
// A NCCL node is what reaches each other without the network: a host, the hosts of an NVLink domain, or a part of a host
// where peer to peer and host memory are both off. Rank r is GPU r % gpus of NCCL node r / gpus; host h of the job sits at
// place `placement[h]` of the fabric. Both structs are plain values; the planner fills them.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/collective/symmetric.hpp"
#include "fabricast/fabric/aggregation.hpp"
#include "fabricast/hardware/node.hpp"

namespace fabricast {

/// Of a release without a patch, as people mostly write it, the rules of its last one count.
struct NcclVersion {
  static constexpr int last_patch = 99;
  int major = 2, minor = 28, patch = last_patch;
  friend auto operator<=>(const NcclVersion&, const NcclVersion&) = default;
};

/// How a tree's network edges are spread over the GPUs of a node [NCCL-search].
enum class TreePattern { balanced = 1, split = 2, tree = 3 };
template <>
struct EnumNames<TreePattern> {
  static constexpr std::array<std::string_view, 4> names{"", "balanced", "split", "tree"};
};

/// One channel inside a node: the chain of GPUs from the NIC it enters by to the NIC it leaves by.
struct ChannelShape {
  std::vector<int> gpus;
  int nic_in = -1, nic_out = -1;  ///< -1 on a single node
};

/// SHARP as this job gets it: a tree for every NIC of a node.
struct SharpService {
  std::vector<AggregationTree> trees;  ///< by NIC; empty: none
  double share = 1;                    ///< of the rate that a tree has of its switches, as other trees take turns
  std::string without;                 ///< why there is none
  /// Shorter messages take the low-latency trees, in pieces, of which so many are on their way at once.
  std::int64_t streaming_from = 16384;
  static constexpr int piece = 1024, pieces_at_once = 8;  ///< B [SHARP-plugin]
  bool available() const { return !trees.empty(); }
  bool streams(double bytes) const { return bytes >= static_cast<double>(streaming_from); }
  /// Windows of pieces that a message fills on a low-latency tree; 0 on a streaming one.
  double windows(double bytes) const { return streams(bytes) ? 0 : std::ceil(bytes / piece) / pieces_at_once; }
  /// Round trips that a message waits for pieces of its own.
  double waits(double bytes) const { return std::max(0.0, std::ceil(windows(bytes)) - 1); }
};

struct Communicator {
  Node node;
  std::vector<std::uint32_t> placement;                  ///< by host
  std::uint32_t hosts_per_node = 1, nodes_per_host = 1;  ///< at least one of them is 1
  std::vector<ChannelShape> rings, trees;                ///< what the search found; channels repeat them in turn
  std::vector<int> heads;  ///< GPUs that reduce through the NVSwitch, each with its NIC; empty: none
  int cross_nic = 0;       ///< 2: rings come in pairs that swap at every second node [NCCL-search]
  TreePattern tree_pattern = TreePattern::balanced;
  int channels = 1;             ///< most that a call may use
  std::vector<int> nic_of_gpu;  ///< the nearest; empty without NICs
  SharpService sharp;
  bool pxn = true;                  ///< a GPU may send by the NIC of a peer behind the same NVLink
  bool p2p_pxn = true;              ///< and does so with sends to the receiver's rail, wherever its own NIC is
  PathType to_nic = PathType::LOC;  ///< of the GPU that has it farthest to its NIC
  bool gdr = true;          ///< NICs read and write the GPUs' memory: by GPUDirect RDMA, or as it is the CPU's, too
  bool gdr_by_cpu = false;  ///< GPUDirect RDMA crosses a CPU's root complex
  bool gdr_read = true;     ///< GPUDirect RDMA for what is sent, too
  int qps_per_connection = 1;
  bool split_data_on_qps = false;
  std::uint32_t first_qp = 0;  ///< at every NIC; queue pairs of other communicators come before
  NcclVersion version;

  std::int64_t nodes() const { return static_cast<std::int64_t>(placement.size()) * nodes_per_host / hosts_per_node; }
  /// The first host of a NCCL node, or the one that it is a part of.
  std::uint32_t host(std::uint32_t nccl_node) const { return placement[nccl_node * hosts_per_node / nodes_per_host]; }
  /// The fabric's endpoint of a NIC of a NCCL node, where hosts have `ports` NICs each.
  std::uint32_t endpoint(std::uint32_t nccl_node, std::uint32_t nic, std::uint32_t ports) const {
    const auto port = static_cast<std::uint32_t>(node.port_of_nic[nic]);
    // What is the nearest NIC to the first part of a host is as many places farther for the others.
    const std::uint32_t place = port + nccl_node % nodes_per_host * ports / nodes_per_host;
    if (nodes_per_host > 1) return host(nccl_node) * ports + place % ports;
    return placement[nccl_node * hosts_per_node + port / ports] * ports + port % ports;
  }
  /// Whether a host of the fabric is one of those that make up a NCCL node.
  bool has_host(std::uint32_t nccl_node, std::uint32_t host) const {
    const auto first = placement.begin() + static_cast<std::ptrdiff_t>(nccl_node * hosts_per_node / nodes_per_host);
    return std::find(first, first + hosts_per_node, host) != first + hosts_per_node;
  }
  /// For every NIC the GPU that uses it: heads of collectives whose network part is by NIC.
  std::vector<int> rail_gpus() const {
    std::vector<int> gpus_by_nic;
    for (int nic = 0; nic < node.nics; ++nic)
      if (const auto it = std::find(nic_of_gpu.begin(), nic_of_gpu.end(), nic); it != nic_of_gpu.end())
        gpus_by_nic.push_back(static_cast<int>(it - nic_of_gpu.begin()));
    return gpus_by_nic;
  }
  int gpus() const { return node.spec.gpus; }
  std::int64_t ranks() const { return nodes() * gpus(); }
  const ChannelShape& ring_shape(int channel) const { return rings[static_cast<std::size_t>(channel) % rings.size()]; }
  const ChannelShape& tree_shape(int channel) const { return trees[static_cast<std::size_t>(channel) % trees.size()]; }
  /// Which of the two trees a channel uses: copies of the search's channels alternate by whole sets [NCCL-connect].
  int tree_index(int channel) const { return channel / static_cast<int>(trees.size()) % 2; }
};

/// Who chose algorithm and protocol: NCCL by its estimates, or in its place the tuner that the OFI plugin is.
enum class Chooser { nccl, ofi_tuner };
template <>
struct EnumNames<Chooser> {
  static constexpr std::array<std::string_view, 2> names{"nccl", "ofi_tuner"};
};

/// An algorithm and protocol with NCCL's estimate of its time.
struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double estimate_us = 0;
};

struct Plan {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;  ///< as nccl-tests counts them
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;  ///< that its data is spread over
  int threads = 512;
  std::int64_t chunk = 0;    ///< most payload a rank hands on in one step
  int slices_per_chunk = 1;  ///< pipelined pieces of a chunk
  std::int64_t least_slice = 0;
  int slots = 8;  ///< slices in flight between two ranks
  /// Payload of each channel: of the whole buffer for all_reduce, broadcast and reduce; of one rank's part for
  /// all_gather and reduce_scatter; of sends and receives what the busiest rank sends or receives, the larger.
  std::vector<std::int64_t> shares;
  std::vector<std::int64_t> offsets;  ///< where each channel's share starts
  /// Sends and receives (peers.hpp): bytes between two ranks, in how many parts, and their size.
  std::int64_t pair = 0;
  int parts = 1;
  std::int64_t part = 0;
  bool one_way = false;  ///< of sendrecv between two ranks: only the first one sends
  /// Channels for which NCCL launches a block: those that carry data of the busiest rank.
  int open_channels() const {
    const auto open = std::count_if(shares.begin(), shares.end(), [](std::int64_t share) { return share > 0; });
    return kernels.empty() ? std::max(1, static_cast<int>(open)) : channels;
  }
  /// The last part may be shorter.
  std::int64_t part_bytes(int index) const { return std::clamp<std::int64_t>(pair - index * part, 0, part); }
  bool registered = false;            ///< NCCL works on the caller's buffers, without copies of its own
  std::vector<SymmetricRun> kernels;  ///< of algorithm `symmetric`: those that NCCL weighed, its choice first
  std::vector<Candidate> candidates;  ///< all usable ones, the chosen one first, then in the order of NCCL's estimates
  Chooser chooser = Chooser::nccl;    ///< of candidates.front()
  /// Whether NCCL would run candidates.front() instead, for which there is no schedule yet.
  bool stands_in = false;
};

}  // namespace fabricast
