// How long the stations of one channel keep a slice: from loads of links to seconds. For b bytes of payload,
//
//   GPU    max( overhead + copies b / copy rate,  b x link )            its threads and its links work at once
//   link   max over links l of  sum over c of use_c m_lc w / C_l        s per byte while all channels use them
//   NIC    b w / C of its port, in a round with all messages that it sends for one slice of every channel           (1)
//
// m_lc are the connections of channel c on link l, use_c is its slice relative to this channel's, w is bytes on the
// wire per byte of payload, and C_l is in B/s. Channels run in step, so all of them count on a link. Which of them are
// there at the same time is known only for small plans (edge_contention.hpp).
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
  /// Slices of the channels, relative to this channel's; 0: the channel is done.
  const std::vector<double>& use;
  int channel = 0;
  double rate = 0;          ///< its share, B/s of payload
  bool by_network = false;  ///< a link binds it, not its own threads
};

/// Messages for one slice of every open channel: the channel's own in this direction, those in step with it, and all.
struct Messages {
  double own = 1, step = 1, all = 1;
};

/// The services of one channel's stations. Times are in s, for a slice of `bytes` of payload. The view must outlive it.
class Services {
 public:
  /// Whether to look at each connection of the channel, or only at the links that they cross, which is much faster for
  /// a million connections.
  enum class Looks { at_edges, at_links };
  explicit Services(const ChannelView& view, Looks looks = Looks::at_edges);

  /// A GPU that sends over the i-th hop inside the node; i out of range: to the NIC's buffer. Its threads and the links
  /// work at once, so the slower of them counts. Channels run in step, so all of them share a link inside the node.
  double gpu(std::size_t hop, double bytes) const { return std::max(threads(bytes), link(hop, bytes)); }
  /// The threads of a GPU: overhead and copying. \param part  fraction of a block's threads that do it
  double threads(double bytes, double part = 1) const;
  /// The copying of a step that sends.
  double copying(double bytes, double part = 1) const;
  /// The copying of a step that only receives.
  double receiving(double bytes, double part = 1) const;
  /// A hop inside the node, in the worst node.
  double link(std::size_t hop, double bytes) const;
  /// The same in a given node.
  double link_in(std::uint32_t node, std::size_t hop, double bytes) const;
  /// The slowest GPU of a node: threads, links, and operations of the NVSwitch.
  double slowest_gpu(double bytes) const;
  /// The most loaded hop between two GPUs of a node.
  double slowest_link(double bytes) const;
  /// Switches that reduce: s per byte of the most loaded link of the channel's trees, while all channels use it, and
  /// the number of channels that do.
  double tree_seconds() const { return tree_seconds_; }
  double tree_sharers() const { return tree_sharers_; }
  /// A message that passes the switches that reduce.
  Service tree(double bytes) const;
  /// NVLS: the links of a head's reduction and multicast of a chunk.
  double reduce(std::size_t head, double bytes) const { return head < reduce_.size() ? reduce_[head] * bytes : 0; }
  double multicast(std::size_t head, double bytes) const {
    return head < multicast_.size() ? multicast_[head] * bytes : 0;
  }
  /// `link` on a ring. Channels of one NIC leave it one after the other and stay apart, so they share links inside the
  /// node only if a slice takes longer there than their distance in time.
  double staggered_link(std::size_t hop, double bytes) const;
  /// The threads of a step that only receives.
  double receive(double bytes, double part = 1) const;

  /// s per byte of a single message on edge e. A NIC sends one message after the other, so only messages of other NICs
  /// share the links beyond it.
  double alone(std::size_t e) const { return hops_[routes_[e]].alone; }
  /// s; latency of the fabric on edge e.
  double latency(std::size_t e) const { return hops_[routes_[e]].latency; }
  /// s per byte at the NIC that sends on edge e.
  double here(std::size_t e) const { return here(edges_.of(e)); }
  /// s per byte of the most loaded link between a GPU and its NIC.
  double staging() const { return contended_at_nic_; }
  /// s per byte at the fastest NIC that sends on an edge.
  double at_nic() const;
  /// s per byte between a GPU and its NIC, at the NIC's rate.
  double alone_at_nic() const { return alone_at_nic_; }
  /// A NIC of a tree that sends on edge e. \param siblings  number of children of the parent
  Service nic(std::size_t e, Messages messages, int siblings, bool up, double bytes) const;
  /// A NIC of a chain that sends `messages`, by the mean over the edges.
  Service mean_nic(double messages, double bytes) const;
  /// A proxy thread that sends messages.
  Service proxy(Messages messages, double bytes) const;
  /// Minimum between two slices, by the slowest hop of the channel.
  double network_gap(double bytes) const;
  /// The network hop of a ring, folded over its nodes.
  NetworkHop ring_hop(double bytes) const;

  /// s per byte of a single message; s of the fabric.
  struct Hop {
    double alone = 0, latency = 0;
  };
  /// The mean over the channel's connections.
  const Hop& mean_hop() const;
  const EdgeGroups& edges() const { return edges_; }
  const ChannelView& view() const { return v_; }

 private:
  double contended(std::uint32_t group) const {
    return contended_seconds(v_.loads.groups[group], v_.use, v_.costs.wire);
  }
  using View = EdgeGroups::View;
  double here(const View& edge) const;
  /// s per byte of one message of an edge on a link of the group.
  double message(const View& edge, std::uint32_t group) const;
  /// Messages of an edge's NIC that cross a link of the group, assuming that its channels take the same path there.
  double connections(const View& edge, std::uint32_t group) const;

  /// s/B by hop inside a node, in the algorithm's order.
  std::vector<double> hop_seconds(const InsideGroups& inside) const;

  const ChannelView& v_;
  const EdgeGroups& edges_;
  const std::uint32_t* routes_ = nullptr;  ///< by edge
  std::vector<Hop> hops_;                  ///< by route
  mutable std::optional<Hop> mean_hop_;    ///< computed at the first request
  std::vector<double> hop_seconds_, usual_hop_seconds_;
  std::map<std::uint32_t, std::vector<double>> faulty_hop_seconds_;  ///< by node
  std::vector<double> reduce_, multicast_;                           ///< s/B by head
  double alone_at_nic_ = 0, contended_at_nic_ = 0;                   ///< s/B between GPU and NIC
  double tree_seconds_ = 0, tree_sharers_ = 1;
  double worst_latency_ = 0, worst_seconds_ = 0;
};

}  // namespace fabricast
