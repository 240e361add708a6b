// A collective algorithm: a descriptor of pure functions, one file under models/collective and one line in
// algorithms.inc beside this one. No event loop and no state: an algorithm only says what is sent.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "fabricast/collective/costs.hpp"
#include "fabricast/collective/schedule.hpp"

namespace fabricast {

/// How the caller calls, as far as NCCL's own rules leave it to him.
struct CallTerms {
  Buffers buffers = Buffers::plain;
  bool zero_blocks = false;  ///< NCCL is to do without thread blocks where it can (NCCL_CTA_POLICY)
};

struct CollectiveAlgorithm {
  Algorithm algorithm = Algorithm::ring;
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  /// Whether one stream stands for all channels.
  bool one_stream = false;
  /// Whether the NVSwitch reduces and hands out.
  bool in_nvswitch = false;
  /// Whether pairs of ranks exchange data: in no step with others, and by another GPU's NIC where PXN is.
  bool in_pairs = false;
  /// Whether all ranks send on one dimension after the other, and so share links with messages of the same dimension
  /// alone (pat.hpp).
  bool in_dimensions = false;
  /// Whether a flag between two workers of one rank takes no time.
  bool own_flags_free = false;
  /// Whether its network edges depend on the operation.
  bool edges_by_op = false;
  /// Parts of the names of parameters that serve only algorithms which list them.
  std::span<const std::string_view> own_parameters = {};
  bool (*supports)(CollectiveOp) = nullptr;
  /// Whether it can run an operation that it supports on these ranks; null: always.
  bool (*fits)(const Communicator&, CollectiveOp, Protocol) = nullptr;
  /// The plan of a call that NCCL gives to it without asking its cost model, or none; null: it does not.
  std::optional<Plan> (*take)(const Communicator&, const CallTerms&, CollectiveOp, std::int64_t bytes) = nullptr;
  Stream (*stream)(const Communicator&, const Plan&, int channel) = nullptr;
  /// Connections over the network, if it has any: a tree's upward edges first, then the downward ones.
  void (*network_edges)(const Communicator&, const Plan&, int channel, const EdgeSink&) = nullptr;
  /// The connections from one node to another where these are the same for all pairs of nodes; none where they are not.
  std::vector<NetworkEdge> (*edges_of_pair)(const Communicator&, const Plan&) = nullptr;
  /// Weight of an edge that carries a whole message of the plan; null: 1.
  double (*message_weight)(const Plan&) = nullptr;
  /// Plans of one operation on as many channels have the same edges where this is equal; null: always.
  std::uint64_t (*edge_key)(const Plan&) = nullptr;
  /// Trees in which the switches reduce, if it uses any.
  void (*network_trees)(const Communicator&, const Plan&, int channel, const TreeSink&) = nullptr;
  /// Nodes of the same role do the same inside, on every channel; null: all nodes do.
  std::uint64_t (*node_role)(const Communicator&, std::uint32_t node) = nullptr;
  /// What node `node` of the job does inside on this channel.
  void (*node_transfers)(const Communicator&, const Plan&, int channel, std::uint32_t node,
                         std::vector<NodeTransfer>& transfers) = nullptr;
  /// Null for kernels that no schedule describes.
  std::unique_ptr<ChannelProgram> (*program)(const Communicator&, const Plan&, int channel) = nullptr;
  /// Chunk, slices and slots, where it does not just fill the slots of its protocol, which the plan has; null: it does.
  void (*cut)(const Communicator&, const ChunkLimits&, Plan&) = nullptr;
  /// What is special to its costs, given those that every algorithm has of this protocol, GPU and network; null: nothing.
  void (*adjust_costs)(const Communicator&, const Plan&, ProtocolCosts&) = nullptr;
  /// Channels with the same number have the same network edges; null: each has its own.
  int (*edge_set)(const Communicator&, int channel) = nullptr;
  /// Channels with different numbers are timed apart, however alike their shares and links; null: none are.
  int (*timed_apart)(const Communicator&, int channel) = nullptr;
};

/// Whether the algorithm can run an operation on these ranks.
inline bool can_run(const CollectiveAlgorithm& a, const Communicator& comm, CollectiveOp op, Protocol protocol) {
  return a.supports(op) && (!a.fits || a.fits(comm, op, protocol));
}

/// 0 where the algorithm has none.
std::uint64_t edge_key_of(const Plan& plan);
std::vector<NetworkEdge> list_edges(const CollectiveAlgorithm&, const Communicator&, const Plan&, int channel);

/// By their number in the enumeration.
std::span<const CollectiveAlgorithm> collective_algorithms();
/// Never null.
const CollectiveAlgorithm* find_by_algorithm(Algorithm algorithm);

}  // namespace fabricast
