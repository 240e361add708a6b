// How long the stations of one channel keep a slice: from shares of links to seconds. For b bytes of payload,
//
//   GPU    max( overhead + copies b / copy rate,  b x link )            its threads and its links work at once
//   link   max over links l of  sum over c of use_c m_lc w / C_l        s per byte while all channels use them
//   NIC    b w / C of its port, in a round with all messages that it sends for one slice of every channel           (1)
//
// m_lc are the connections of channel c on link l, use_c its slice over this channel's, w bytes on the wire for each of
// payload, C_l in B/s. Channels run in step, so on a link all of them count; which ones are there at one time is known
// for small plans only (edge_contention.hpp).
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "../count/loads.hpp"
#include "../share/sharing.hpp"
#include "fabricast/protocol/costs.hpp"
#include "pipeline.hpp"
#include "ring_recurrence.hpp"

namespace fabricast {

/// What the stations of one channel need to know of the network.
struct ChannelView {
  const Communicator& comm;
  const Plan& plan;
  const ProtocolCosts& costs;
  const Loads& loads;
  /// Slices of the channels, as parts of this one's; 0: the channel is done.
  const std::vector<double>& use;
  int channel = 0;
  double rate = 0;          ///< its share, B/s of payload
  bool by_network = false;  ///< a link binds it, not its own threads
};

/// Messages of one slice of every open channel: this one's own in this direction, those that run in step with it, all.
struct Messages {
  double own = 1, step = 1, all = 1;
};

/// All seconds are for a slice of `bytes` of payload.
class Services {
 public:
  /// Whether each of the channel's connections counts, or only what they cross: a million of them take a while to see.
  enum class Looks { at_edges, at_links };
  explicit Services(const ChannelView& view, Looks looks = Looks::at_edges);

  /// A GPU that sends over the i-th hop inside the node; i out of range: to the NIC's buffer. Its threads and the links
  /// work at once, so the slower of them counts. Channels run in step, so a link inside the node is shared by all.
  double gpu(std::size_t hop, double bytes) const { return std::max(threads(bytes), link(hop, bytes)); }
  /// \param part  of a block's threads that do it
  double threads(double bytes, double part = 1) const;
  /// What of it is copying.
  double copying(double bytes, double part = 1) const;
  double receiving(double bytes, double part = 1) const;
  double link(std::size_t hop, double bytes) const;
  /// The same in a certain node; `link` is that of the worst.
  double link_in(std::uint32_t node, std::size_t hop, double bytes) const;
  double slowest_gpu(double bytes) const;
  /// The most crowded hop between two GPUs of a node.
  double slowest_link(double bytes) const;
  /// Switches that reduce: s per byte of the most crowded link of the channel's trees, while all channels use it, and
  /// how many channels do.
  double tree_seconds() const { return tree_seconds_; }
  double tree_sharers() const { return tree_sharers_; }
  /// A message on its way through the switches that reduce.
  Service tree(double bytes) const;
  /// NVLS: the links of a head's reduction and multicast of a chunk.
  double reduce(std::size_t head, double bytes) const { return head < reduce_.size() ? reduce_[head] * bytes : 0; }
  double multicast(std::size_t head, double bytes) const {
    return head < multicast_.size() ? multicast_[head] * bytes : 0;
  }
  /// The same on a ring: channels of one NIC leave it one after the other and stay apart, so they meet on links inside
  /// the node only as far as a slice takes longer than that.
  double staggered_link(std::size_t hop, double bytes) const;
  /// A step that only receives: no link, only a copy.
  double receive(double bytes, double part = 1) const;

  /// s per byte of a message on edge e that its NIC sends by itself. A NIC sends one message after the other, so only
  /// messages of other NICs share the links beyond.
  double alone(std::size_t e) const { return hops_[ways_[e]].alone; }
  /// s; of edge e, of the fabric.
  double latency(std::size_t e) const { return hops_[ways_[e]].latency; }
  /// s per byte at the NIC that sends on edge e.
  double here(std::size_t e) const { return here(edges_.of(e)); }
  /// s per byte of the most crowded link between a GPU and its NIC.
  double staging() const { return contended_at_nic_; }
  /// s per byte at the fastest NIC that sends on an edge.
  double at_nic() const;
  /// s per byte between a GPU and its NIC, at the NIC's rate.
  double alone_at_nic() const { return alone_at_nic_; }
  /// A NIC that sends on edge e. \param siblings  children of the parent
  Service nic(std::size_t e, Messages messages, int siblings, bool up, double bytes) const;
  /// A NIC of a chain that sends `messages`: the mean over the edges.
  Service mean_nic(double messages, double bytes) const;
  Service proxy(Messages messages, double bytes) const;
  /// Least time between two slices, by the slowest hop of the channel.
  double network_gap(double bytes) const;
  /// The hops of a ring.
  NetworkHop ring_hop(double bytes) const;

  /// s per byte alone, and s of the fabric.
  struct Hop {
    double alone = 0, latency = 0;
  };
  /// Over the channel's connections.
  const Hop& mean_hop() const;
  const EdgeGroups& edges() const { return edges_; }
  const ChannelView& view() const { return v_; }

 private:
  double contended(std::uint32_t group) const { return contended_seconds(v_.loads.groups[group], v_.use, v_.costs.wire); }
  using View = EdgeGroups::View;
  double here(const View& edge) const;
  /// s per byte of one message of an edge on a link of the group.
  double message(const View& edge, std::uint32_t group) const;
  /// Messages of an edge's NIC that cross a link of the group, if its channels take the same way there.
  double connections(const View& edge, std::uint32_t group) const;

  /// s/B by hop inside a node, in the algorithm's order.
  std::vector<double> hop_seconds(const InsideGroups& inside) const;

  const ChannelView& v_;
  const EdgeGroups& edges_;
  const std::uint32_t* ways_ = nullptr;  ///< by edge
  std::vector<Hop> hops_;                ///< by way
  mutable std::optional<Hop> mean_hop_;  ///< where somebody has asked for it
  std::vector<double> hop_seconds_, usual_hop_seconds_;
  std::map<std::uint32_t, std::vector<double>> faulty_hop_seconds_;  ///< by node
  std::vector<double> reduce_, multicast_;                           ///< s/B by head
  double alone_at_nic_ = 0, contended_at_nic_ = 0;                     ///< s/B between GPU and NIC
  double tree_seconds_ = 0, tree_sharers_ = 1;
  double worst_latency_ = 0, worst_seconds_ = 0;
};

}  // namespace fabricast
