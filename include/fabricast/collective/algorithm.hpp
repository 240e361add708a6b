// A collective algorithm: a descriptor of pure functions.
//
// Each algorithm is one file under models/collective and one line in algorithms.inc beside this header. It states what
// is sent, between which ranks and in which order. It has no event loop and no state, and it knows no time: protocol
// costs (protocol/costs.hpp) and the engines turn its schedule into seconds.
//
// A descriptor gives the schedule in several forms, each for another consumer: `stream` for the flow engine, `program`
// for the chunk engine and for the proof of correctness, `network_edges` and `network_trees` for counting connections
// on the fabric's links, `node_transfers` for the links inside the nodes.
//
// Optional members are null or false by default. Each comment states what null means.
//
// Pure functions; safe to call concurrently. The table of algorithms is built on first use and never changes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "fabricast/collective/costs.hpp"
#include "fabricast/collective/schedule.hpp"

namespace fabricast {

/// What the caller decides about a call beyond its operation and size.
struct CallTerms {
  Buffers buffers = Buffers::plain;
  bool zero_blocks = false;  ///< NCCL avoids thread blocks where it can (NCCL_CTA_POLICY)
};

/// The descriptor of an algorithm: facts, and functions that give its schedule in the views that engines need.
/// Functions are pure and may be called concurrently; those that may be null say what null stands for. A new algorithm
/// is one file in models/collective and one line in algorithms.inc; engines, planner and lists follow.
struct CollectiveAlgorithm {
  Algorithm algorithm = Algorithm::ring;
  std::string_view name;     ///< as in the enumeration
  std::string_view summary;  ///< one line for lists
  std::string_view source;   ///< citation key
  /// One stream stands for all channels, because they work on the same messages.
  bool one_stream = false;
  /// The NVSwitch reduces and multicasts.
  bool in_nvswitch = false;
  /// Pairs of ranks send to each other. They are in step with no other pair, and with PXN they use the NIC of another
  /// GPU.
  bool in_pairs = false;
  /// All ranks send on one dimension after the other, so messages share links with those of the same dimension only
  /// (pat.hpp).
  bool in_dimensions = false;
  /// A flag between two workers of one rank takes no time.
  bool own_flags_free = false;
  /// The network edges depend on the operation.
  bool edges_by_op = false;
  /// Fragments of parameter names. A parameter whose name contains one affects only the algorithms that list it, so a
  /// fit leaves it out of the rows of all others.
  std::span<const std::string_view> own_parameters = {};
  /// Whether the algorithm has a schedule for an operation. Never null.
  bool (*supports)(CollectiveOp) = nullptr;
  /// Whether it can run a supported operation on these ranks. Null: always.
  bool (*fits)(const Communicator&, CollectiveOp, Protocol) = nullptr;
  /// The plan of a call that NCCL gives to this algorithm without consulting its cost model; none if NCCL does not.
  /// Null: never.
  std::optional<Plan> (*take)(const Communicator&, const CallTerms&, CollectiveOp, std::int64_t bytes) = nullptr;
  /// Stream view of a channel. Never null.
  Stream (*stream)(const Communicator&, const Plan&, int channel) = nullptr;
  /// Calls the sink for every connection over the network. A tree lists its upward edges first, then the downward ones.
  /// The order is part of the contract: it numbers the edges. Null: the algorithm has no connections.
  void (*network_edges)(const Communicator&, const Plan&, int channel, const EdgeSink&) = nullptr;
  /// The connections from one node to another, if they are the same for all ordered pairs of nodes; else empty. Null:
  /// they never are.
  std::vector<NetworkEdge> (*edges_of_pair)(const Communicator&, const Plan&) = nullptr;
  /// Sum of the weights of the edges that together carry one message. Null: 1.
  double (*message_weight)(const Plan&) = nullptr;
  /// Plans of one operation with equally many channels and equal keys have the same edges. Null: all of them have.
  std::uint64_t (*edge_key)(const Plan&) = nullptr;
  /// Calls the sink for every tree in which the fabric's switches reduce. Null: it uses none.
  void (*network_trees)(const Communicator&, const Plan&, int channel, const TreeSink&) = nullptr;
  /// Nodes of equal role have the same transfers inside the node, on every channel. Null: all nodes have.
  std::uint64_t (*node_role)(const Communicator&, std::uint32_t node) = nullptr;
  /// Replaces `transfers` by what node `node` of the job transfers inside on this channel. Never null.
  void (*node_transfers)(const Communicator&, const Plan&, int channel, std::uint32_t node,
                         std::vector<NodeTransfer>& transfers) = nullptr;
  /// Transfer view of a channel. The program refers to the communicator and the plan. Null: the kernel has no schedule
  /// of steps.
  std::unique_ptr<ChannelProgram> (*program)(const Communicator&, const Plan&, int channel) = nullptr;
  /// Sets chunk, slices and slots of a plan that has those of its protocol. Null: these already hold.
  void (*cut)(const Communicator&, const ChunkLimits&, Plan&) = nullptr;
  /// Changes the costs that all algorithms of this protocol, GPU and network have in common. Null: they hold unchanged.
  void (*adjust_costs)(const Communicator&, const Plan&, ProtocolCosts&) = nullptr;
  /// Channels with the same number have the same network edges. Null: each channel has its own.
  int (*edge_set)(const Communicator&, int channel) = nullptr;
  /// Channels with different numbers are timed separately, even if their shares and links are alike. Null: none are.
  int (*timed_apart)(const Communicator&, int channel) = nullptr;
};

/// Whether the algorithm can run an operation on these ranks with this protocol.
inline bool can_run(const CollectiveAlgorithm& a, const Communicator& comm, CollectiveOp op, Protocol protocol) {
  return a.supports(op) && (!a.fits || a.fits(comm, op, protocol));
}

/// CollectiveAlgorithm::edge_key of the plan's algorithm; 0 if it is null.
std::uint64_t edge_key_of(const Plan& plan);
/// The network edges of a channel, in the algorithm's order; empty if it has none.
std::vector<NetworkEdge> list_edges(const CollectiveAlgorithm&, const Communicator&, const Plan&, int channel);

/// All algorithms, in the order of the enumeration `Algorithm`.
std::span<const CollectiveAlgorithm> collective_algorithms();
/// The descriptor of an algorithm. Never null.
const CollectiveAlgorithm* find_by_algorithm(Algorithm algorithm);

}  // namespace fabricast
