// Sends and receives: the order in which a rank serves its peers, and on which channels.
//
// All-to-all, scatter and gather consist of a send and a receive per pair of ranks. NCCL groups them in rounds: in each
// round every rank sends to one peer and receives from one [NCCL-p2p]. Ranks form groups of G, G being the number of
// GPUs on a single node, else the greatest common divisor of this number and 8. In round (D, d), rank l of group g
// sends to rank (l + d) mod G of group g + D and receives from rank (l - d) mod G of group g - D. Group distances D are
// triangular numbers modulo a power of two, so consecutive rounds go to distant groups.
//
// A round's message is cut into *parts*, each on its own channel. A channel works on up to eight parts at once.
//
// Example: 2 nodes of 8 GPUs. G = 8, two groups. The rounds are (0, 0) to (0, 7) inside the nodes, then (1, 0) to (1,
// 7) between them: in round (1, 3) rank 2 sends to rank 8 + 5 and receives from rank 8 + 7. Every pair meets in one
// round.
//
// A copy between buffers that do not both start at a multiple of 16 B is much slower, which decides the time of
// messages of odd sizes; functions at the end of this header say which messages are aligned.
//
// Pure functions; safe to call concurrently. A PeerSchedule is immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

/// Number of parts that a channel works on at once.
constexpr int concurrent_parts = 8;

/// A round: the distance from a rank to the peer that it sends to. It is the same for all ranks.
struct PeerRound {
  std::int64_t group = 0;  ///< distance between their groups, D
  int local = 0;           ///< distance between their places in the group, d
  std::uint32_t base = 0;  ///< channel of the first part
};

/// The rounds of a communicator, in the order in which every rank goes through them.
class PeerSchedule {
 public:
  /// Makes ranks() / G distances x G rounds; keeps no reference to `comm`.
  /// \pre channels is a power of two
  PeerSchedule(const Communicator& comm, int channels);

  /// All rounds: one for each peer, the rank itself included.
  const std::vector<PeerRound>& rounds() const { return rounds_; }
  /// The peer that a rank sends to, or receives from, in a round. In round (0, 0) it is the rank itself.
  std::int64_t sends_to(const PeerRound& round, std::int64_t rank) const { return peer(round, rank, 1); }
  std::int64_t receives_from(const PeerRound& round, std::int64_t rank) const { return peer(round, rank, -1); }
  /// Number of groups, ranks in each, and the group of a rank.
  std::int64_t groups() const { return groups_; }
  int group_size() const { return group_size_; }
  std::int64_t group_of(std::int64_t rank) const { return rank / group_size_; }
  /// The channel of a part of the round's message, from 0. Parts of a message take consecutive channels, modulo their
  /// number. \param part  from 0
  int channel(const PeerRound& round, int part) const;

 private:
  std::int64_t peer(const PeerRound& round, std::int64_t rank, int sign) const;

  std::int64_t ranks_, groups_;
  int group_size_, channels_;
  std::vector<PeerRound> rounds_;
};

/// Whether a rank sends to another, or to itself, in this operation. The root is rank 0. In a sendrecv, rank r sends to
/// rank (r + 1) mod ranks. False for operations that do not consist of sends and receives.
constexpr bool sends(CollectiveOp op, std::int64_t ranks, std::int64_t from, std::int64_t to) {
  switch (op) {
    case CollectiveOp::alltoall: return true;
    case CollectiveOp::sendrecv: return to == (from + 1) % ranks;
    case CollectiveOp::scatter: return from == 0;
    case CollectiveOp::gather: return to == 0;
    default: return false;
  }
}

/// The same for a plan: with `Plan::one_way` only rank 0 sends.
inline bool sends(const Plan& plan, std::int64_t ranks, std::int64_t from, std::int64_t to) {
  return sends(plan.op, ranks, from, to) && (!plan.one_way || from == 0);
}

/// B; alignment of NCCL's fast copies. If source and destination both start at a multiple of 16 B, a copy takes one
/// instruction per 16 B, else one per byte [NCCL-device]. The slots between sender and receiver are aligned.
inline constexpr std::int64_t aligned_bytes = 16;

/// Whether a message starts at a multiple of 16 B in the sender's, or in the receiver's, buffer. Buffers start there,
/// and parts and chunks are multiples of 16 B. So only the position of a message in a buffer with one message for each
/// rank matters; an end with a single message is always aligned.
constexpr bool is_aligned_send(const Plan& plan, std::int64_t to) {
  const bool by_rank = plan.op == CollectiveOp::alltoall || plan.op == CollectiveOp::scatter;
  return !by_rank || to * plan.pair % aligned_bytes == 0;
}
constexpr bool is_aligned_receive(const Plan& plan, std::int64_t from) {
  const bool by_rank = plan.op == CollectiveOp::alltoall || plan.op == CollectiveOp::gather;
  return !by_rank || from * plan.pair % aligned_bytes == 0;
}

/// The rank with the most work, which stands for the call: in a sendrecv the last GPU of a node, which sends over the
/// network; else the root. In
/// an all-to-all all ranks are alike, and rank 0 stands for them.
inline std::int64_t busiest_rank(CollectiveOp op, const Communicator& comm) {
  return op == CollectiveOp::sendrecv ? comm.gpus() - 1 : 0;
}

/// The NIC by which a GPU sends to a GPU of another node: with PXN the NIC of its own host on the receiver's rail, if
/// NVLink reaches that NIC's GPU; else its own NIC [NCCL-p2p]. A GPU always receives by its own NIC.
inline int sending_nic(const Communicator& comm, int from_gpu, int to_gpu) {
  const int per_host = comm.gpus() / static_cast<int>(comm.hosts_per_node);
  const int on_rail = from_gpu / per_host * per_host + to_gpu % per_host;
  const bool by_peer = comm.p2p_pxn && comm.node.nvlink && comm.node.route(from_gpu, on_rail) == PeerPath::nvlink;
  return comm.nic_of_gpu[static_cast<std::size_t>(by_peer ? on_rail : from_gpu)];
}

}  // namespace fabricast
