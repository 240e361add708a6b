// The ranks of a job as NCCL sees them (Communicator), and the plan of one call (Plan). A schedule is made from both.
//
// An NCCL node is a set of GPUs that reach each other without the network: a host, the hosts of an NVLink domain, or a
// part of a host if peer-to-peer and host memory are both disabled. "Node" below means an NCCL node. All nodes are
// alike. Rank r is GPU r % gpus() of node r / gpus(). Host h of the job has position `placement[h]` on the fabric.
//
// Sizes are bytes of payload unless a comment says otherwise. Sizes of calls are counted as in nccl-tests.
//
//   Communicator comm = ...;                      // 4 hosts of 8 GPUs
//   comm.ranks();                                 // 32: rank 11 is GPU 3 of node 1
//   comm.endpoint(1, 3, ports);                   // the vertex on the fabric of NIC 3 of that node
//
// A Communicator says what is possible (paths, channels, NICs), a Plan what one call does. Neither depends on the
// traffic of other calls. Numbers of nodes, NICs and channels are not checked.
//
// The structs are plain values that the planner fills (planner/planner.hpp). Const members are safe to call
// concurrently.
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

/// A release of NCCL. Most users give it without a patch number; then the rules of its last patch hold.
struct NcclVersion {
  static constexpr int last_patch = 99;  ///< above any patch that exists
  int major = 2, minor = 28, patch = last_patch;
  friend auto operator<=>(const NcclVersion&, const NcclVersion&) = default;
};

/// How the network edges of a tree are distributed over the GPUs of a node [NCCL-search]: all at the first GPU (tree),
/// all children at the second one (split), or one child at each (balanced). child_position of double_tree.hpp has the
/// rule.
enum class TreePattern { balanced = 1, split = 2, tree = 3 };
template <>
struct EnumNames<TreePattern> {
  static constexpr std::array<std::string_view, 4> names{"", "balanced", "split", "tree"};
};

/// One channel inside a node: the chain of GPUs between the NIC where data enters and the NIC where it leaves.
struct ChannelShape {
  std::vector<int> gpus;          ///< in the order in which the channel visits them
  int nic_in = -1, nic_out = -1;  ///< numbers of NICs in the node; -1 on a single node
};

/// The SHARP service that this job gets: an aggregation tree for every NIC of a node [SHARP-plugin].
struct SharpService {
  std::vector<AggregationTree> trees;  ///< by NIC; empty: no service
  double share = 1;     ///< fraction of the switches' rate that a tree gets, if trees take turns in a switch
  std::string without;  ///< the reason if there is no service
  /// Shortest message on a streaming tree, B. Shorter messages take low-latency trees, in pieces of `piece` bytes, of
  /// which at most `pieces_at_once` are in flight.
  std::int64_t streaming_from = 16384;
  static constexpr int piece = 1024, pieces_at_once = 8;  ///< B, number [SHARP-plugin]
  bool available() const { return !trees.empty(); }
  /// Whether a message of this size takes a streaming tree.
  bool streams(double bytes) const { return bytes >= static_cast<double>(streaming_from); }
  /// Number of windows of pieces that a message fills on a low-latency tree, fractions included; 0 on a streaming tree.
  double windows(double bytes) const { return streams(bytes) ? 0 : std::ceil(bytes / piece) / pieces_at_once; }
  /// Number of round trips that a message waits until earlier pieces of its own have returned.
  double waits(double bytes) const { return std::max(0.0, std::ceil(windows(bytes)) - 1); }
};

/// The ranks of one communicator, their position on the fabric, and what NCCL found out about their nodes.
struct Communicator {
  Node node;
  std::vector<std::uint32_t> placement;                  ///< position on the fabric, by host of the job
  std::uint32_t hosts_per_node = 1, nodes_per_host = 1;  ///< at least one of them is 1
  std::vector<ChannelShape> rings, trees;                ///< what NCCL's search found; channels repeat them in turn
  std::vector<int> heads;  ///< GPUs that reduce through the NVSwitch, each with its NIC; empty: none
  int cross_nic = 0;       ///< 2: rings come in pairs that are swapped at every second node [NCCL-search]
  TreePattern tree_pattern = TreePattern::balanced;
  int channels = 1;             ///< limit of a call
  std::vector<int> nic_of_gpu;  ///< the NIC that each GPU uses; empty without NICs
  SharpService sharp;
  bool pxn = true;                  ///< a GPU may send by the NIC of a peer that it reaches by NVLink
  bool p2p_pxn = true;              ///< sends and receives use PXN to reach the receiver's rail
  PathType to_nic = PathType::LOC;  ///< the longest distance between a GPU and its NIC
  bool gdr = true;  ///< NICs read and write GPU memory directly: by GPUDirect RDMA, or because memory is unified
  bool gdr_by_cpu = false;         ///< GPUDirect RDMA crosses the root complex of a CPU
  bool gdr_read = true;            ///< GPUDirect RDMA is used for sending as well
  int qps_per_connection = 1;      ///< queue pairs, each a flow of its own on the fabric
  bool split_data_on_qps = false;  ///< each message is split over the queue pairs; else these take turns
  std::uint32_t first_qp = 0;      ///< number of its first queue pair at every NIC, after those of other communicators
  NcclVersion version;             ///< whose rules hold

  /// Number of NCCL nodes: hosts, joined by NVLink domains or split into parts.
  std::int64_t nodes() const { return static_cast<std::int64_t>(placement.size()) * nodes_per_host / hosts_per_node; }
  /// Position on the fabric of the first host of a node, or of the host that the node is a part of.
  std::uint32_t host(std::uint32_t nccl_node) const { return placement[nccl_node * hosts_per_node / nodes_per_host]; }
  /// The fabric's endpoint of a NIC of a node. \param ports  NIC ports of a host on the fabric
  std::uint32_t endpoint(std::uint32_t nccl_node, std::uint32_t nic, std::uint32_t ports) const {
    const auto port = static_cast<std::uint32_t>(node.port_of_nic[nic]);
    // node.port_of_nic holds for the first part of a host. The ports of each further part follow at equal distances.
    const std::uint32_t place = port + nccl_node % nodes_per_host * ports / nodes_per_host;
    if (nodes_per_host > 1) return host(nccl_node) * ports + place % ports;
    return placement[nccl_node * hosts_per_node + port / ports] * ports + port % ports;
  }
  /// Whether a node consists of this host (by its position on the fabric), among others. O(hosts of a node).
  bool has_host(std::uint32_t nccl_node, std::uint32_t host) const {
    const auto first = placement.begin() + static_cast<std::ptrdiff_t>(nccl_node * hosts_per_node / nodes_per_host);
    return std::find(first, first + hosts_per_node, host) != first + hosts_per_node;
  }
  /// For every NIC that is in use, the first GPU that uses it: the heads of collectives with one network part per NIC.
  std::vector<int> rail_gpus() const {
    std::vector<int> gpus_by_nic;
    for (int nic = 0; nic < node.nics; ++nic)
      if (const auto it = std::find(nic_of_gpu.begin(), nic_of_gpu.end(), nic); it != nic_of_gpu.end())
        gpus_by_nic.push_back(static_cast<int>(it - nic_of_gpu.begin()));
    return gpus_by_nic;
  }
  /// GPUs of a node.
  int gpus() const { return node.spec.gpus; }
  /// GPUs of all nodes.
  std::int64_t ranks() const { return nodes() * gpus(); }
  /// The ring, or the tree's chain, of a channel inside a node. \pre the search found one, as with more than one rank
  const ChannelShape& ring_shape(int channel) const { return rings[static_cast<std::size_t>(channel) % rings.size()]; }
  const ChannelShape& tree_shape(int channel) const { return trees[static_cast<std::size_t>(channel) % trees.size()]; }
  /// Which tree of the double tree a channel uses, 0 or 1. Channels are copies of those that the search found; all
  /// channels of one copy use the same tree, and the copies alternate [NCCL-connect].
  int tree_index(int channel) const { return channel / static_cast<int>(trees.size()) % 2; }
};

/// What chose algorithm and protocol: NCCL's cost model, or in its place the tuner of the OFI plugin, or the profile of
/// libnccl-tuner-fabricast.so (planner/tuner_rules.hpp).
enum class Chooser { nccl, ofi_tuner, tuner };
template <>
struct EnumNames<Chooser> {
  static constexpr std::array<std::string_view, 3> names{"nccl", "ofi_tuner", "tuner"};
};

/// An algorithm and a protocol with NCCL's own estimate of the time. It ranks candidates; it is not a forecast.
struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double estimate_us = 0;  ///< by NCCL's cost model, with NCCL's constants
};

/// How NCCL runs one call: algorithm, protocol, channels, threads, and how the buffer is cut.
struct Plan {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;  ///< size of the call
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;              ///< that the data is distributed over
  int threads = 512;             ///< of a block; a channel has one block on each GPU
  std::int64_t chunk = 0;        ///< B; the most that a rank moves in one step
  int slices_per_chunk = 1;      ///< pipelined pieces of a chunk
  std::int64_t least_slice = 0;  ///< B; chunks are not cut into slices shorter than this
  int slots = 8;                 ///< limit on slices in flight between two ranks
  /// B of each channel. The shares of all channels add up to the buffer for all_reduce, broadcast and reduce, and to
  /// one rank's block for all_gather and reduce_scatter. For sends and receives: what the busiest rank sends or what it
  /// receives on the channel, whichever is more.
  std::vector<std::int64_t> shares;
  std::vector<std::int64_t> offsets;  ///< B; where each channel's share starts
  /// Sends and receives (peers.hpp): bytes from one rank to another, number of parts, and bytes of each but the last.
  std::int64_t pair = 0;
  int parts = 1;
  std::int64_t part = 0;
  bool one_way = false;  ///< sendrecv between two ranks of which only the first one sends
  /// Channels for which NCCL launches a block: those that carry data of the busiest rank.
  int open_channels() const {
    const auto open = std::count_if(shares.begin(), shares.end(), [](std::int64_t share) { return share > 0; });
    return kernels.empty() ? std::max(1, static_cast<int>(open)) : channels;
  }
  /// B of a part; the last one may be shorter.
  std::int64_t part_bytes(int index) const { return std::clamp<std::int64_t>(pair - index * part, 0, part); }
  bool registered = false;            ///< NCCL works in the caller's buffers, without copies of its own
  std::vector<SymmetricRun> kernels;  ///< algorithm `symmetric` only: the kernels that NCCL compared, its choice first
  std::vector<Candidate> candidates;  ///< all usable ones, the chosen one first, then in the order of NCCL's estimates
  Chooser chooser = Chooser::nccl;    ///< of candidates.front()
  /// The plan replaces NCCL's choice, candidates.front(), for which there is no schedule.
  bool stands_in = false;
};

}  // namespace fabricast
