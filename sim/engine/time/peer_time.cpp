// (1) of peer_time.hpp: what one rank sends and receives, and the time per byte on its links. Messages of many ranks
// cross a link; one rank sends k of them, one after the other:
//
//   link = max over links l of  ( sum over c of m_lc w / C_l )  x  fraction with the same target  /  k              (2)
//
// m_lc are the connections of channel c on link l, w is bytes on the wire per byte of payload, and C_l is in B/s.
// Targets are GPUs of the node, or the network.
#include "peer_time.hpp"

#include <algorithm>

#include "fabricast/collective/peers.hpp"
#include "peer_transfers.hpp"

namespace fabricast {

namespace {

/// The most loaded links of sends and receives inside the node and over the network, s per byte: `busy` with all
/// messages, `alone` without those on the other route.
struct PeerLinks {
  struct Route {
    double busy = 0, alone = 0;
    double shared() const { return busy - alone; }
  } inside, network;
};

PeerLinks contended_links(const ChannelView& v) {
  PeerLinks most;
  const auto add = [](PeerLinks::Route& route, double busy, double part) {
    if (part > 0) {
      route.busy = std::max(route.busy, busy);
      route.alone = std::max(route.alone, busy * part);
    }
  };
  for (const LinkGroup& group : v.loads.groups) {
    const double seconds = contended_seconds(group, v.use, v.costs.wire);
    // Over PCIe, a GPU's link carries messages to other GPUs as well as messages to the NIC.
    if (group.inside) add(most.inside, seconds, group.between_gpus);
    add(most.network, seconds, 1 - (group.inside ? group.between_gpus : 0));
  }
  return most;
}

/// The time of what one rank sends, or in a gather receives.
PeerTime time_of_rank(const ChannelView& v, const PeerLinks& links, std::int64_t rank, double scale) {
  const Communicator& comm = v.comm;
  const Plan& plan = v.plan;
  const std::int64_t n = comm.ranks(), g = comm.gpus();
  const auto channels = static_cast<int>(plan.shares.size());
  PeerTransfers x;
  x.channels.resize(plan.shares.size());
  const PeerSchedule schedule(comm, channels);
  double inside = 0, outside = 0;
  for (const PeerRound& round : schedule.rounds()) {
    const std::int64_t source = schedule.receives_from(round, rank);
    std::int64_t peer = schedule.sends_to(round, rank);
    // The root of a gather only receives. Receiving a message takes as long as sending it.
    if (plan.op == CollectiveOp::gather) peer = source;
    const bool taken = plan.op == CollectiveOp::gather ? sends(plan, n, peer, rank) : sends(plan, n, rank, peer);
    if (!taken) continue;
    PeerPart part;
    part.route = peer == rank           ? PeerPart::Route::self
                 : peer / g == rank / g ? PeerPart::Route::inside
                                        : PeerPart::Route::network;
    // With PXN, the sends of a root are distributed over the proxy threads of its host. In an all-to-all each thread
    // takes over as many sends of others as others take of its own.
    if (plan.op == CollectiveOp::scatter && part.route == PeerPart::Route::network)
      part.proxy = static_cast<std::size_t>(sending_nic(comm, static_cast<int>(rank % g), static_cast<int>(peer % g)));
    inside += part.route == PeerPart::Route::inside;
    outside += part.route == PeerPart::Route::network;
    // NCCL copies data byte by byte that do not start at a multiple of 16 B, at either end.
    part.send = is_aligned_send(plan, peer) ? 1 : v.costs.unaligned;
    part.receive = is_aligned_receive(plan, source) ? 1 : v.costs.unaligned;
    if (part.route == PeerPart::Route::self) part.send = std::max(part.send, part.receive);
    for (int p = 0; p < plan.parts; ++p) {
      const std::int64_t bytes = plan.part_bytes(p);
      part.chunks = std::max<std::int64_t>(1, ceil_div(bytes, plan.chunk));
      part.last = static_cast<double>(bytes - (part.chunks - 1) * plan.chunk) * scale;
      x.channels[static_cast<std::size_t>(schedule.channel(round, p))].push_back(part);
    }
  }
  // A link that no message of this rank crosses is not used; avoid a division by 0.
  inside = std::max(1.0, inside);
  outside = std::max(1.0, outside);
  x.link = links.inside.alone / inside;
  x.link_shared = links.inside.shared() / inside;
  x.nic = links.network.alone / outside;
  x.nic_shared = links.network.shared() / outside;
  x.chunk = static_cast<double>(plan.chunk) * scale;
  x.slots = plan.slots;
  x.overhead = v.costs.slice.value;
  x.network_overhead = v.costs.network_slice.value;
  x.copy = 1 / v.costs.copy_rate.value;
  x.copies_at_nic = v.costs.copies_at_nic;
  x.receive = v.costs.last_receive;
  x.sender_alone = plan.op == CollectiveOp::gather;
  x.receiver_alone = plan.op == CollectiveOp::scatter;
  x.hop_inside = v.costs.hop_inside.value;
  x.message = v.costs.proxy(0).value;
  x.thread = v.costs.thread.value * v.costs.wire;
  x.first_message = v.costs.peer.value;
  x.hop_network = v.costs.network_latency(x.chunk).value + v.loads.mean_latency(v.channel);
  return {peer_makespan(x), busiest_proxy(x)};
}

}  // namespace

PeerTime peer_time(const ChannelView& v, double scale) {
  const PeerLinks links = contended_links(v);
  // In an alltoall all ranks are alike. In a scatter or gather the root takes part in all messages.
  const PeerTime first = time_of_rank(v, links, 0, scale);
  const int last = v.comm.gpus() - 1;
  if (v.plan.op != CollectiveOp::sendrecv || last == 0 || v.plan.one_way) return first;
  // In a sendrecv the last GPU of a node sends over the network, and the others inside it.
  const PeerTime other = time_of_rank(v, links, last, scale);
  return other.makespan > first.makespan ? other : first;
}

double peer_latency(const ChannelView& v) {
  Plan plan = v.plan;
  // An empty chunk still costs its handshakes and hops.
  plan.pair = plan.part = 0;
  plan.parts = 1;
  return peer_time({v.comm, plan, v.costs, v.loads, v.use, v.channel, v.rate, v.by_network}, 0).makespan;
}

}  // namespace fabricast
