// Plans of sends and receives: channels, parts and chunks [NCCL-p2p].
//
// NCCL has no cost model for them: channels follow from what a pair's link can carry, parts from the size of a message,
// and the protocol from the size of a part. docs/models/peers.md lists the rules. PeerSchedule
// (models/collective/peers.cpp) says which peer a rank serves in which round.
#include <algorithm>
#include <bit>
#include <cmath>

#include "fabricast/collective/peers.hpp"
#include "fabricast/planner/buffer_memory.hpp"
#include "plan_parts.hpp"

namespace fabricast {

namespace {

constexpr std::int64_t kib = 1024;
/// Bandwidth that NCCL assumes for a channel over the network, GB/s.
constexpr double channel_network_rate = 14;
/// Maximum size of a message from a registered buffer.
constexpr std::int64_t largest_registered_message = kib * 1024 * 1024;

int power_of_two_up(int n) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(1, n)))); }

/// Default number of channels to a rank of another node [NCCL-p2p]:
///
///   to 2.11         1
///   2.12 to 2.19    2
///   2.20 to 2.28    2, halved if the channels of all ranks exceed four times the available ones; at least one per NIC
///   from 2.29.2 on  one per 14 GB/s of the NICs, at least one per NIC
///
/// \param rails  NICs per GPU  \param available  channels, before rounding up to a power of two
int usual_network_channels(const Communicator& comm, int rails, int available) {
  if (comm.version < NcclVersion{2, 12, 0}) return 1;
  if (comm.version < NcclVersion{2, 20, 0}) return 2;
  if (comm.version < NcclVersion{2, 29, 2}) return std::max(rails, comm.ranks() > std::int64_t{2} * available ? 1 : 2);
  const double rate = comm.node.spec.nics.rate.value / 1e9;
  return std::max(rails, static_cast<int>(std::ceil(rate / channel_network_rate)));
}

/// The lowest number of NVLinks between two GPUs; 1 if some pair has none.
double fewest_nvlinks(const Node& node) {
  if (node.layout.has_nvswitch()) return node.gpu.nvlinks;
  double fewest = node.gpu.nvlinks;
  const auto gpus = static_cast<int>(node.layout.gpus.size());
  for (int g = 0; g < gpus; ++g) {
    const std::vector<NodeLayout::NvLinks>& links = node.layout.gpus[static_cast<std::size_t>(g)].nvlinks;
    if (static_cast<int>(links.size()) < gpus - 1) return 1;
    for (const NodeLayout::NvLinks& l : links) fewest = std::min(fewest, l.count);
  }
  return std::max(1.0, fewest);
}

/// Channels of one pair of ranks, by what its link can carry.
/// \param available  channels  \param total  the same, rounded up to a power of two
int channels_per_peer(const Communicator& comm, const NcclSettings& settings, int available, int total) {
  const Node& node = comm.node;
  int channels = comm.version < NcclVersion{2, 29, 2} ? available : 64;
  if (comm.gpus() > 1) {
    // All pairs get as many as the pair with the fewest NVLinks.
    channels = std::min(channels, node.nvlink ? static_cast<int>(2 * fewest_nvlinks(node)) : 2);
  }
  if (comm.nodes() > 1) {
    const int rails = std::max(1, node.spec.nics.count / std::max(1, node.fabric_ports));
    channels =
        std::min(channels, settings.channels_per_net_peer.value_or(usual_network_channels(comm, rails, available)));
  }
  channels = std::min(total, power_of_two_up(channels));
  // All peers of a round must fit into one batch of each channel.
  const bool fit = comm.version >= NcclVersion{2, 29, 2} && !settings.channels_per_net_peer;
  if (comm.nodes() > 1 && fit)
    while (channels > 1 && channels * ceil_div(comm.ranks(), concurrent_parts) > total) channels /= 2;
  return channels;
}

/// Chunk size of long messages; at most a slot of the buffer.
std::int64_t largest_chunk(const Communicator& comm, const NcclSettings& settings) {
  const auto given = [](const std::optional<Bytes>& bytes) { return bytes.value_or(Bytes{128 * kib}).value; };
  std::int64_t chunk = given(settings.p2p_net_chunk);
  if (comm.nodes() == 1) {
    // 2.14 introduced a separate chunk size for NVLink.
    const bool own = comm.node.nvlink && comm.version >= NcclVersion{2, 14, 0};
    chunk = own ? settings.p2p_nvl_chunk.value_or(Bytes{512 * kib}).value : given(settings.p2p_pci_chunk);
  }
  return std::min(chunk, buffer_sizes(settings).simple.value / 8);
}

/// Chunk size for a message of `bytes`. Over the network, short messages have smaller chunks.
std::int64_t chunk_of(const Communicator& comm, std::int64_t largest, std::int64_t bytes) {
  if (comm.nodes() == 1) return largest;
  return bytes < largest ? largest / 4 : bytes < 8 * largest ? largest / 2 : largest;
}

}  // namespace

Plan plan_peers(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  const Communicator& comm = planner.comm;
  const std::int64_t n = comm.ranks();
  Plan plan;
  plan.op = op;
  plan.bytes = bytes;
  plan.algorithm = Algorithm::p2p;
  plan.pair = op == CollectiveOp::sendrecv ? bytes : bytes / n;
  const NcclSettings& settings = planner.settings;
  const int bounded = std::max(std::min(comm.channels, settings.max_p2p_channels.value_or(most_channels)),
                               settings.min_p2p_channels.value_or(1));
  const int total = std::min(most_channels, power_of_two_up(bounded));
  const int most = channels_per_peer(comm, settings, bounded, total);
  // The minimum number of parts: as many channels for each pair as the messages to all n peers fill without sharing
  // one.
  int least = most;
  while (least > 1 && least * n > total) least /= 2;
  const std::int64_t full = largest_chunk(comm, settings);
  plan.chunk = chunk_of(comm, full, plan.pair);
  // Over the network this requires that the sender's own NIC reads the buffer, not one close to another GPU.
  plan.registered = works_in_place(planner, peers_in_place) && (comm.nodes() == 1 || !comm.pxn || comm.gpus() == 1);

  // The number of parts keeps each part between its limits. Parts are whole pages.
  // Since 2.20 a part over the network has at least half of a full chunk; before, and inside a node, an eighth.
  const bool few_parts = comm.nodes() > 1 && comm.version >= NcclVersion{2, 20, 0};
  const std::int64_t largest = comm.nodes() == 1 ? 32 * full : full, smallest = few_parts ? full / 2 : full / 8;
  const auto part = [&](int parts) { return std::max(smallest, round_up(ceil_div(plan.pair, parts), 4 * kib)); };
  int parts = least;
  while (parts < most && part(parts) > largest) parts *= 2;
  plan.part = part(parts);
  plan.parts = static_cast<int>(std::max<std::int64_t>(1, ceil_div(plan.pair, plan.part)));
  plan.channels = total;

  // Short messages inside a node use LL. Connections over the network have no LL buffers.
  const std::int64_t threshold = settings.p2p_ll_threshold.value_or(Bytes{16 * kib}).value;
  if (comm.nodes() == 1 && plan.pair <= plan.parts * threshold) plan.protocol = Protocol::ll;
  // LL needs its own buffers, because flags are between the data. A registered message over the network is one chunk:
  // the NIC reads it from the user's buffer, so no slot limits it.
  if (plan.protocol == Protocol::ll) plan.registered = false;
  if (plan.registered && comm.nodes() > 1) plan.chunk = std::min(plan.part, largest_registered_message);
  if (plan.protocol == Protocol::ll) plan.chunk = buffer_sizes(settings).ll.value / 16;
  // The block's threads are divided between the sends and receives that the channel serves at once.
  plan.threads = 640;
  // Sixteen chunks per channel are shared by the peers that the channel serves concurrently.
  const std::int64_t peers = op == CollectiveOp::sendrecv ? 1 : n;
  const std::int64_t at_once = std::clamp<std::int64_t>(peers * plan.parts / total, 1, concurrent_parts);
  plan.slots = comm.nodes() == 1 ? 8 : static_cast<int>(std::min<std::int64_t>(8, 16 / at_once));

  // What the busiest rank sends and receives on each channel. A call launches the channels that carry some of it, and
  // both directions run concurrently, so the larger of the two counts.
  plan.offsets.assign(static_cast<std::size_t>(total), 0);
  std::vector<std::int64_t> sent(plan.offsets.size(), 0), received = sent;
  const PeerSchedule schedule(comm, total);
  const std::int64_t rank = busiest_rank(op, comm);
  for (const PeerRound& round : schedule.rounds())
    for (int p = 0; p < plan.parts; ++p) {
      const auto channel = static_cast<std::size_t>(schedule.channel(round, p));
      if (sends(op, n, rank, schedule.sends_to(round, rank))) sent[channel] += plan.part_bytes(p);
      if (sends(op, n, schedule.receives_from(round, rank), rank)) received[channel] += plan.part_bytes(p);
    }
  for (std::size_t c = 0; c < sent.size(); ++c) plan.shares.push_back(std::max(sent[c], received[c]));
  return plan;
}

}  // namespace fabricast
