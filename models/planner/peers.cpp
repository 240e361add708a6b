// Sends and receives: how many channels, parts and chunks [NCCL-p2p].
#include <algorithm>
#include <bit>
#include <cmath>

#include "fabricast/collective/peers.hpp"
#include "plan_parts.hpp"

namespace fabricast {

namespace {

constexpr std::int64_t kib = 1024;
/// What NCCL takes one channel to carry over the network, GB/s.
constexpr double channel_network_rate = 14;

int power_of_two_up(int n) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(1, n)))); }

/// Channels of one pair: what its link can take.
int channels_per_peer(const Communicator& comm, int total) {
  const Node& node = comm.node;
  int channels = 64;
  if (comm.gpus() > 1) {
    // Two per NVLink of the pair.
    const int ways = node.spec.intranode == Intranode::nvlink_mesh ? comm.gpus() - 1 : 1;
    channels = node.nvlink ? 2 * node.gpu.nvlinks / ways : 2;
  }
  if (comm.nodes() > 1) {
    const int rails = std::max(1, node.spec.nics.count / std::max(1, node.nics));
    const double rate = node.spec.nics.rate.value / 1e9;
    channels = std::min(channels, std::max(rails, static_cast<int>(std::ceil(rate / channel_network_rate))));
  }
  channels = std::min(total, power_of_two_up(channels));
  if (comm.nodes() > 1)
    while (channels > 1 && channels * ceil_div(comm.ranks(), concurrent_parts) > total) channels /= 2;
  return channels;
}

std::int64_t chunk_of(const Communicator& comm, std::int64_t bytes) {
  if (comm.nodes() == 1) {
    // A chunk of its own for NVLink came with 2.14.
    const bool large = comm.node.nvlink && comm.version >= NcclVersion{2, 14, 0};
    return (large ? 512 : 128) * kib;
  }
  const std::int64_t chunk = 128 * kib;
  return bytes < chunk ? chunk / 4 : bytes < 8 * chunk ? chunk / 2 : chunk;
}

}  // namespace

Plan plan_peers(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  const Communicator& comm = planner.comm;
  const std::int64_t n = comm.ranks();
  Plan plan;
  plan.op = op, plan.bytes = bytes, plan.algorithm = Algorithm::p2p;
  plan.pair = op == CollectiveOp::sendrecv ? bytes : bytes / n;
  const int total = std::min(64, power_of_two_up(comm.channels));
  const int most = channels_per_peer(comm, total);
  int least = most;
  while (least > 1 && least * n > total) least /= 2;
  plan.chunk = chunk_of(comm, plan.pair);

  // As many parts as keep each between its limits; of whole pages.
  const std::int64_t full = comm.nodes() == 1 ? (comm.node.nvlink ? plan.chunk : 128 * kib) : 128 * kib;
  const std::int64_t largest = comm.nodes() == 1 ? 32 * full : full, smallest = comm.nodes() == 1 ? full / 8 : full / 2;
  const auto part = [&](int parts) { return std::max(smallest, round_up(ceil_div(plan.pair, parts), 4 * kib)); };
  int parts = least;
  while (parts < most && part(parts) > largest) parts *= 2;
  plan.part = part(parts);
  plan.parts = static_cast<int>(std::max<std::int64_t>(1, ceil_div(plan.pair, plan.part)));
  plan.channels = total;

  // Pairs inside a node take LL while they are short; connections over the network have no LL buffers.
  if (comm.nodes() == 1 && plan.pair <= plan.parts * 16 * kib) plan.protocol = Protocol::ll;
  if (plan.protocol == Protocol::ll) plan.chunk = 32 * kib;
  plan.threads = 640;
  // A pool of sixteen chunks per channel is divided over the peers that a channel serves at once.
  const std::int64_t peers = op == CollectiveOp::sendrecv ? 1 : n;
  const std::int64_t at_once = std::clamp<std::int64_t>(peers * plan.parts / total, 1, concurrent_parts);
  plan.slots = comm.nodes() == 1 ? 8 : static_cast<int>(std::min<std::int64_t>(8, 16 / at_once));

  plan.shares.assign(static_cast<std::size_t>(total), 0);
  plan.offsets.assign(plan.shares.size(), 0);
  const PeerSchedule schedule(comm, total);
  for (const PeerRound& round : schedule.rounds())
    for (int p = 0; p < plan.parts; ++p)
      plan.shares[static_cast<std::size_t>(schedule.channel(round, p))] +=
          std::clamp<std::int64_t>(plan.pair - p * plan.part, 0, plan.part);
  return plan;
}

}  // namespace fabricast
