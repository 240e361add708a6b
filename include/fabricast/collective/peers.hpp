// Sends and receives: in which order a rank turns to its peers, and on which channels.
//
// All-to-all, scatter and gather are one send and one receive per pair of ranks; NCCL groups them in rounds, so that in
// each round every rank sends to one peer and receives from one [NCCL-p2p]. Ranks come in groups of G: in round (D, d)
// rank l of group g sends to rank (l + d) mod G of group g + D and receives from rank (l - d) mod G of group g - D.
// Group distances are triangular numbers modulo a power of two, so that neighbours in the list are far apart.
//
// A round's message is cut into *parts*, each on a channel of its own. A channel works on up to eight parts at once.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/collective/communicator.hpp"

namespace fabricast {

/// Parts on one channel at once.
constexpr int concurrent_parts = 8;

/// Distance of a round, the same for all ranks.
struct PeerRound {
  std::int64_t group = 0;  ///< of groups
  int local = 0;           ///< of places in the group
  std::uint32_t base = 0;  ///< channel of its first part
};

class PeerSchedule {
 public:
  PeerSchedule(const Communicator& comm, int channels);

  const std::vector<PeerRound>& rounds() const { return rounds_; }
  std::int64_t sends_to(const PeerRound& round, std::int64_t rank) const { return peer(round, rank, 1); }
  std::int64_t receives_from(const PeerRound& round, std::int64_t rank) const { return peer(round, rank, -1); }
  std::int64_t groups() const { return groups_; }
  int group_size() const { return group_size_; }
  std::int64_t group_of(std::int64_t rank) const { return rank / group_size_; }
  /// Channel of a part.
  int channel(const PeerRound& round, int part) const;

 private:
  std::int64_t peer(const PeerRound& round, std::int64_t rank, int sign) const;

  std::int64_t ranks_, groups_;
  int group_size_, channels_;
  std::vector<PeerRound> rounds_;
};

/// Whether a rank sends to another, or to itself, in this operation. Root is rank 0; rank r of sendrecv sends to rank
/// r + 1.
constexpr bool sends(CollectiveOp op, std::int64_t ranks, std::int64_t from, std::int64_t to) {
  switch (op) {
    case CollectiveOp::alltoall: return true;
    case CollectiveOp::sendrecv: return to == (from + 1) % ranks;
    case CollectiveOp::scatter: return from == 0;
    case CollectiveOp::gather: return to == 0;
    default: return false;
  }
}

inline bool sends(const Plan& plan, std::int64_t ranks, std::int64_t from, std::int64_t to) {
  return sends(plan.op, ranks, from, to) && (!plan.one_way || from == 0);
}

/// What NCCL's copies take at once: one instruction per 16 B where both ends begin at multiples of it, else one per byte
/// [NCCL-device]. The slots between sender and receiver do.
inline constexpr std::int64_t aligned_bytes = 16;

/// Whether the caller's end of a message begins at a multiple of 16 B: buffers do, and parts and chunks of a message, so it
/// is a matter of the message's place in a buffer with one for each rank. Sends and receives of single messages have none.
constexpr bool is_aligned_send(const Plan& plan, std::int64_t to) {
  const bool by_rank = plan.op == CollectiveOp::alltoall || plan.op == CollectiveOp::scatter;
  return !by_rank || to * plan.pair % aligned_bytes == 0;
}
constexpr bool is_aligned_receive(const Plan& plan, std::int64_t from) {
  const bool by_rank = plan.op == CollectiveOp::alltoall || plan.op == CollectiveOp::gather;
  return !by_rank || from * plan.pair % aligned_bytes == 0;
}

/// The rank that has most to do: of a ring of sends the last GPU of a node, which sends over the network; else the root.
inline std::int64_t busiest_rank(CollectiveOp op, const Communicator& comm) {
  return op == CollectiveOp::sendrecv ? comm.gpus() - 1 : 0;
}

/// The NIC by which a GPU sends to a GPU of another node: with PXN the one of its own host that is on the receiver's
/// rail, else its own [NCCL-p2p]. A GPU receives by its own.
inline int sending_nic(const Communicator& comm, int from_gpu, int to_gpu) {
  const int per_host = comm.gpus() / static_cast<int>(comm.hosts_per_node);
  const int on_rail = from_gpu / per_host * per_host + to_gpu % per_host;
  const bool by_peer = comm.p2p_pxn && comm.node.nvlink && comm.node.route(from_gpu, on_rail) == PeerPath::nvlink;
  return comm.nic_of_gpu[static_cast<std::size_t>(by_peer ? on_rail : from_gpu)];
}

}  // namespace fabricast
