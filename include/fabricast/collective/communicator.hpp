// The ranks of a job as NCCL sees them, and the plan of one call: what a schedule is made from.
//
// A NCCL node is what shares NVLink: a host, or the hosts of an NVLink domain. Rank r is GPU r % gpus of NCCL node
// r / gpus; host h of the job sits at place `placement[h]` of the fabric. Both structs are plain values; the planner
// fills them.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/hardware/node.hpp"

namespace fabricast {

struct NcclVersion {
  int major = 2, minor = 28, patch = 0;
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

struct Communicator {
  Node node;
  std::vector<std::uint32_t> placement;  ///< by host
  std::uint32_t hosts_per_node = 1;
  std::vector<ChannelShape> rings, trees;  ///< what the search found; channels repeat them in turn
  int cross_nic = 0;                       ///< 2: rings come in pairs that swap at every second node [NCCL-search]
  TreePattern tree_pattern = TreePattern::balanced;
  int channels = 1;  ///< most that a call may use
  bool gdr = true;
  int qps_per_connection = 1;
  bool split_data_on_qps = false;
  NcclVersion version;

  std::int64_t nodes() const { return static_cast<std::int64_t>(placement.size()) / hosts_per_node; }
  /// The fabric's endpoint of a NIC of a NCCL node, where hosts have `ports` NICs each.
  std::uint32_t endpoint(std::uint32_t nccl_node, std::uint32_t nic, std::uint32_t ports) const {
    return placement[nccl_node * hosts_per_node + nic / ports] * ports + nic % ports;
  }
  /// Whether a host of the fabric is one of those that make up a NCCL node.
  bool has_host(std::uint32_t nccl_node, std::uint32_t host) const {
    const auto first = placement.begin() + static_cast<std::ptrdiff_t>(nccl_node * hosts_per_node);
    return std::find(first, first + hosts_per_node, host) != first + hosts_per_node;
  }
  int gpus() const { return node.spec.gpus; }
  std::int64_t ranks() const { return nodes() * gpus(); }
  const ChannelShape& ring_shape(int channel) const { return rings[static_cast<std::size_t>(channel) % rings.size()]; }
  const ChannelShape& tree_shape(int channel) const { return trees[static_cast<std::size_t>(channel) % trees.size()]; }
  /// Which of the two trees a channel uses: copies of the search's channels alternate by whole sets [NCCL-connect].
  int tree_index(int channel) const { return channel / static_cast<int>(trees.size()) % 2; }
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
  int channels = 1;  ///< used
  int threads = 512;
  std::int64_t chunk = 0;    ///< most payload a rank hands on in one step
  int slices_per_chunk = 1;  ///< pipelined pieces of a chunk
  std::int64_t least_slice = 0;
  int slots = 8;  ///< slices in flight between two ranks
  /// Payload of each channel: of the whole buffer for all_reduce, broadcast and reduce; of one rank's part for
  /// all_gather and reduce_scatter.
  std::vector<std::int64_t> shares;
  std::vector<std::int64_t> offsets;  ///< where each channel's share starts
  std::vector<Candidate> candidates;  ///< all usable ones, NCCL's first choice first
  /// Whether NCCL would run candidates.front() instead, for which there is no schedule yet.
  bool stands_in = false;
};

}  // namespace fabricast
