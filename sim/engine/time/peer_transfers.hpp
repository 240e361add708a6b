// Sends and receives of one rank, event by event.
//
// In an all-to-all every rank does the same at the same time: what it sends to the peer of a round leaves when what it
// receives in that round leaves its sender. So one rank stands for all, and its arrivals are its own departures.
//
//   channel       does its parts in order, `concurrent_parts` side by side; their threads are shared out among them
//   a chunk       waits for a slot, is copied by the GPU, then over NVLink (or PCIe) to a peer of the node
//                 or by the proxy thread and the NIC over the network, and is copied out; then its slot is free again
//   NVLink, proxy thread, NIC   take chunks one by one; by PXN other GPUs' proxy threads send for this rank
//
// For a chunk of b bytes, in s, with k parts side by side on the channel:
//
//   copied   = max( slot free, last chunk of the part copied ) + overhead + b copy k      inside: and over the link
//   posted   = max( copied, proxy thread free ) + message + b thread
//   arrived  = max( posted, NIC free ) + b nic + hop                                      inside: copied + hop
//   consumed = max( arrived, last chunk of the part consumed ) + overhead + b copy k,     slot free at + hop        (1)
//
// Over PCIe a GPU's link carries what goes to its node beside what goes to the NIC: each is faster while the other is
// idle.
//
// Chunks of one part are alike, so once the slots are full the makespan grows by the same time with every round of
// slots: long parts are not followed to their end.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

/// One message of this rank, and of its counterpart.
struct PeerPart {
  enum class Way { self, inside, network } way = Way::inside;
  std::int64_t chunks = 1;
  double last = 0;        ///< bytes of the last chunk
  double send = 1;        ///< the time to copy in what is sent, relative
  double receive = 1;     ///< the same to copy out what is received
  std::size_t proxy = 0;  ///< which proxy thread sends it
};

struct PeerTransfers {
  std::vector<std::vector<PeerPart>> channels;  ///< in order
  double chunk = 0;                             ///< bytes of all but a part's last chunk
  int slots = 8;
  double overhead = 0;          ///< s; of a chunk at a GPU
  double network_overhead = 0;  ///< s; added for chunks from or to a NIC
  double copy = 0;              ///< s per byte; a channel's threads, while it works on one part
  double copies_at_nic = 1;     ///< the same next to a NIC, relative
  double receive = 1;           ///< the same to copy out what came, relative
  /// A peer has one part at a time on a channel, so its threads are not shared out: who sends of a gather, and who
  /// receives of a scatter.
  bool sender_alone = false, receiver_alone = false;
  double link = 0;           ///< s per byte; to a GPU of the node
  double link_shared = 0;    ///< added while something goes over the network, across the same links
  double hop_inside = 0;     ///< s
  double nic = 0;            ///< s per byte
  double nic_shared = 0;     ///< added while something goes to GPUs of the node, across the same links
  double message = 0;        ///< s; proxy thread per chunk, sent and received
  double thread = 0;         ///< s per byte; the same for what it moves
  double first_message = 0;  ///< s; added once per part
  double hop_network = 0;    ///< s
};

/// When all parts are done, s.
double peer_makespan(const PeerTransfers& collective);
/// How long the proxy thread works that has most to do, s.
double busiest_proxy(const PeerTransfers& collective);

}  // namespace fabricast
