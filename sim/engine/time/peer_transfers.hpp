// Sends and receives of one rank, event by event.
//
// In an all-to-all every rank does the same at the same time: its message to the peer of a round leaves when the
// message that it receives in that round leaves its sender. So one rank stands for all, and its departures are its
// arrivals.
//
//   channel       processes its parts in order, `concurrent_parts` at a time; these share its threads
//   chunk         waits for a slot, is copied by the GPU, goes over NVLink (or PCIe) to a peer of the node, or by the
//                 proxy thread and the NIC over the network, and is copied out; then its slot is free again
//   NVLink, proxy thread, NIC   take chunks one by one; with PXN proxy threads of other GPUs send for this rank
//
// For a chunk of b bytes, in s, with k concurrent parts on the channel:
//
//   copied   = max( slot free, last chunk of the part copied ) + overhead + b copy k      inside: and over the link
//   posted   = max( copied, proxy thread free ) + message + b thread
//   arrived  = max( posted, NIC free ) + b nic + hop                                      inside: copied + hop
//   consumed = max( arrived, last chunk of the part consumed ) + overhead + b copy k,     slot free at + hop        (1)
//
// Over PCIe, a GPU's link carries traffic to its node and to the NIC: each is faster while the other is idle.
//
// Chunks of one part are alike, so once the slots are full the makespan grows by the same time with every round of
// slots. Long parts are therefore not followed to their end.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

/// One part of a message of this rank, and its counterpart that this rank receives.
struct PeerPart {
  enum class Route { self, inside, network } route = Route::inside;
  std::int64_t chunks = 1;
  double last = 0;        ///< B of the last chunk
  double send = 1;        ///< time of the sender's copy, relative
  double receive = 1;     ///< time of the receiver's copy, relative
  std::size_t proxy = 0;  ///< number of the proxy thread that sends it
};

struct PeerTransfers {
  std::vector<std::vector<PeerPart>> channels;  ///< parts in order, by channel
  double chunk = 0;                             ///< B of each but a part's last chunk
  int slots = 8;
  double overhead = 0;          ///< s; overhead of a chunk at a GPU
  double network_overhead = 0;  ///< s; added for chunks from or to a NIC
  double copy = 0;              ///< s per byte; threads of a channel that works on one part
  double copies_at_nic = 1;     ///< time of a copy next to a NIC, relative
  double receive = 1;           ///< time of the receiver's copy, relative
  /// The other ranks have one part at a time on a channel, so its threads are not shared: the senders of a gather, and
  /// the receivers of a scatter.
  bool sender_alone = false, receiver_alone = false;
  double link = 0;           ///< s per byte; to a GPU of the node
  double link_shared = 0;    ///< added while traffic to the network crosses the same links
  double hop_inside = 0;     ///< s
  double nic = 0;            ///< s per byte
  double nic_shared = 0;     ///< added while traffic to GPUs of the node crosses the same links
  double message = 0;        ///< s; proxy thread per chunk that is sent and one that is received
  double thread = 0;         ///< s per byte; the proxy thread's share of moving it
  double first_message = 0;  ///< s; added once per part
  double hop_network = 0;    ///< s
};

/// s; when all parts are done.
double peer_makespan(const PeerTransfers& collective);
/// s; work of the busiest proxy thread.
double busiest_proxy(const PeerTransfers& collective);

}  // namespace fabricast
