#include "stations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabricast/collective/double_tree.hpp"

namespace fabricast {

namespace {

/// Services of one channel's stations for slices of a given size.
class Services {
 public:
  explicit Services(const ChannelView& view)
      : v_(view), edges_(view.loads.edges[static_cast<std::size_t>(view.channel)]) {
    const InsideGroups& inside = v_.loads.inside[static_cast<std::size_t>(v_.channel)];
    double at_nic = 0;
    for (std::size_t i = 0; i < inside.transfers.size(); ++i) {
      const std::uint32_t g = inside.group[i];
      const double t = g == no_group ? 0 : crowded(g);
      if (inside.transfers[i].kind == NodeTransfer::Kind::gpu_to_gpu) {
        hop_seconds_.push_back(t);
      } else if (g != no_group) {
        at_nic = std::max(at_nic, t);
        alone_at_nic_ = std::max(alone_at_nic_, v_.costs.wire / v_.loads.groups[g].capacity);
        crowded_at_nic_ = std::max(crowded_at_nic_, t);
      }
    }
    worst_seconds_ = at_nic;
    for (std::size_t e = 0; e < edges_.group.size(); ++e) {
      mean_alone_ += alone(e), mean_latency_ += edges_.latency[e];
      worst_latency_ = std::max(worst_latency_, edges_.latency[e]);
      worst_seconds_ = std::max(worst_seconds_, crowded(edges_.group[e]));
    }
    if (!edges_.group.empty()) {
      mean_alone_ /= static_cast<double>(edges_.group.size());
      mean_latency_ /= static_cast<double>(edges_.group.size());
    }
  }

  /// A slice at the GPU that sends it over the i-th hop inside the node; i out of range: to the NIC's buffer.
  /// Channels run in step, so a link inside the node is shared by all of them at once.
  double gpu(std::size_t hop, double bytes, double phase = 1) const {
    const double link = hop < hop_seconds_.size() ? hop_seconds_[hop] * phase : 0;
    return std::max(v_.costs.gpu_overhead(bytes) + bytes / v_.costs.copy_rate, bytes * link);
  }
  double slowest_gpu(double bytes, double phase) const {
    double slowest = gpu(hop_seconds_.size(), bytes);
    for (std::size_t h = 0; h < hop_seconds_.size(); ++h) slowest = std::max(slowest, gpu(h, bytes, phase));
    return slowest;
  }
  /// The receive-only step: no link, only a copy.
  double receive(double bytes) const {
    return v_.costs.gpu_overhead(bytes) + v_.costs.last_receive * bytes / v_.costs.copy_rate;
  }
  /// One hop inside the node while a pipeline fills: with cut-through only the first line counts.
  double inside_hop(double bytes, double phase) const {
    return slowest_gpu(v_.costs.cut_through ? 0 : bytes, phase) + v_.costs.hop_inside;
  }

  /// Seconds per byte of a message on edge e that its NIC sends by itself: a NIC sends one message after the other, so
  /// only messages of other NICs share the links beyond.
  double alone(std::size_t e) const {
    const LinkGroup& port = v_.loads.groups[edges_.port[e]];
    double connections = 0;
    for (std::size_t c = 0; c < v_.open.size(); ++c)
      if (v_.open[c]) connections += port.connections[c];
    connections = std::max(1.0, connections);
    const double here = std::max({v_.costs.wire / port.capacity, alone_at_nic_, crowded_at_nic_ / connections});
    return edges_.group[e] == edges_.port[e] ? here : std::max(here, crowded(edges_.group[e]) / connections);
  }
  /// A message that meets no queue.
  double network(double bytes, double seconds) const { return v_.costs.proxy(bytes) + bytes * seconds; }
  /// In the long run the slowest hop moves slices at the channel's own share.
  double network_gap(double bytes) const {
    const double share = v_.rate > 0 ? 1 / v_.rate : std::numeric_limits<double>::infinity();
    const double seconds = v_.by_network ? std::min(worst_seconds_, share) : worst_seconds_;
    return std::max(bytes * seconds, v_.costs.proxy_round(bytes));
  }
  NetworkHop hop(double bytes) const {
    NetworkHop h;
    h.pass = network(bytes, mean_alone_);
    h.gap = network_gap(bytes);
    h.latency = v_.costs.network_latency(bytes) + mean_latency_;
    h.credit = v_.costs.network_latency(bytes) + 2 * worst_latency_ - mean_latency_;
    return h;
  }
  const EdgeGroups& edges() const { return edges_; }

 private:
  double crowded(std::uint32_t group) const { return crowded_seconds(v_.loads.groups[group], v_.open, v_.costs.wire); }

  const ChannelView& v_;
  const EdgeGroups& edges_;
  std::vector<double> hop_seconds_;  ///< s/B by hop inside the node, in the algorithm's order
  double alone_at_nic_ = 0, crowded_at_nic_ = 0;  ///< s/B between GPU and NIC
  double mean_alone_ = 0, mean_latency_ = 0, worst_latency_ = 0, worst_seconds_ = 0;
};

double ring(const ChannelView& v, const Services& services, const Stream& stream, double scale) {
  Ring r;
  r.sends = stream.sends, r.last_receive = stream.last_receive;
  r.hop_inside = v.costs.hop_inside, r.network = v.comm.nodes() > 1, r.slots = stream.slots, r.loops = stream.loops;
  double queue = 0;
  const auto loop = [&](int slices, std::int64_t slice) {
    RingLoop l;
    l.slices = slices;
    const double bytes = static_cast<double>(slice) * scale;
    for (int p = 0; p < v.comm.gpus(); ++p) l.op.push_back(services.gpu(static_cast<std::size_t>(p), bytes));
    l.receive = services.receive(bytes);
    if (r.network) {
      l.hop = services.hop(bytes);
      // The last channel of a NIC waits for the others once; then they stay apart.
      queue = std::max(queue, l.hop.gap - l.hop.pass);
    }
    return l;
  };
  if (stream.loops > 0) r.loop = loop(stream.slices, stream.slice);
  r.tail.slices = 0;
  if (stream.tail_slices > 0) r.tail = loop(stream.tail_slices, stream.tail_slice);
  return ring_makespan(r) + queue;
}

/// The slowest station of a pipeline.
double slowest_gap(const ChannelView& v, const Services& services, double bytes) {
  double gap = services.slowest_gpu(bytes, 1);
  if (v.comm.nodes() > 1) gap = std::max(gap, services.network_gap(bytes));
  if (v.by_network) gap = std::max(gap, bytes / v.rate);
  return gap;
}

/// A pipeline with everything but its fill. A slot's round trip: sent, used by the next station, and its credit back.
Pipeline pipeline(const ChannelView& v, const Services& services, const Stream& stream, double scale, double phase) {
  const double bytes = static_cast<double>(stream.loops > 0 ? stream.slice : stream.tail_slice) * scale;
  Pipeline p;
  p.slots = stream.slots;
  p.slices = std::max<std::int64_t>(1, stream.loops);
  p.gap = slowest_gap(v, services, bytes);
  p.trip = 2 * (services.slowest_gpu(bytes, phase) + v.costs.hop_inside);
  if (v.comm.nodes() > 1) {
    const NetworkHop hop = services.hop(bytes);
    p.trip = std::max(p.trip,
                      2 * services.slowest_gpu(bytes, phase) + hop.pass + hop.latency + v.costs.network_latency(bytes));
  }
  if (stream.loops > 0 && stream.tail_slices > 0)
    p.tail_gap = slowest_gap(v, services, static_cast<double>(stream.tail_slice) * scale);
  return p;
}

double chain(const ChannelView& v, const Services& services, const Stream& stream, double scale) {
  const double n = static_cast<double>(v.comm.ranks()), nodes = static_cast<double>(v.comm.nodes());
  const double bytes = static_cast<double>(stream.loops > 0 ? stream.slice : stream.tail_slice) * scale;
  Pipeline p = pipeline(v, services, stream, scale, 1);
  // n - 1 hops, one per node (but one) over the network; the last rank only receives.
  const double by_network = nodes > 1 ? nodes - 1 : 0;
  const double op = services.slowest_gpu(bytes, 1);
  p.fill = (n - 1 - by_network) * services.inside_hop(bytes, 1) + services.receive(bytes);
  if (v.costs.cut_through) p.fill += op;
  if (nodes > 1) {
    const NetworkHop hop = services.hop(bytes);
    p.fill += by_network * (op + hop.pass + hop.latency) + std::max(0.0, hop.gap - hop.pass);
  }
  return pipeline_makespan(p);
}

/// The longest way of a first chunk through the tree: from the end of some node's chain up to the root, and down to the
/// end of another. A node with two children receives and sends two messages at each level. While the pipe fills, up and
/// down take turns, so links inside the node carry half of their steady load.
class TreeFill {
 public:
  TreeFill(const ChannelView& v, const Services& services, double bytes)
      : v_(v),
        s_(services),
        bytes_(bytes),
        op_(services.slowest_gpu(bytes, half)),
        inside_(services.inside_hop(bytes, half)),
        latency_(v.costs.network_latency(bytes)),
        // With the balanced pattern first children come in one GPU further.
        detour_(v.comm.tree_pattern == TreePattern::balanced && v.comm.gpus() > 1 ? inside_ : 0) {}

  double operator()() const {
    // Up and down the chains of the first and the last node; each network edge brings the operation of one GPU beside
    // it.
    const double chains = 2 * (v_.comm.gpus() - 1) * inside_;
    const bool passes_by = v_.costs.cut_through && v_.comm.gpus() > 1;
    const double last = passes_by ? std::max(op_, s_.receive(bytes_)) : s_.receive(bytes_);
    if (v_.comm.nodes() == 1) return chains + last;
    return chains + last + (s_.edges().uniform ? uniform() : longest());
  }

 private:
  static constexpr double half = 0.5;

  double edge(std::size_t e, int siblings) const {
    return s_.network(bytes_, s_.alone(e) * siblings) + latency_ + s_.edges().latency[e] + op_;
  }
  double uniform() const {
    const int depth = tree_depth(v_.comm.nodes());
    return 2 * ((depth - 1) * (edge(0, 2) + detour_) + edge(0, 1) + (v_.comm.nodes() > 2 ? 0 : detour_ / 2));
  }
  /// Edges are numbered by child node, upward ones first. Sums from the root are shared between nodes.
  double longest() const {
    const std::int64_t nodes = v_.comm.nodes();
    const int index = v_.comm.tree_index(v_.channel);
    const std::size_t ups = s_.edges().group.size() / 2;
    std::vector<TreePlace> place(static_cast<std::size_t>(nodes));
    std::vector<std::size_t> edge_of(place.size(), 0);
    std::size_t next = 0;
    for (std::int64_t node = 0; node < nodes; ++node) {
      place[static_cast<std::size_t>(node)] = double_tree(nodes, node, index);
      if (place[static_cast<std::size_t>(node)].parent >= 0) edge_of[static_cast<std::size_t>(node)] = next++;
    }
    std::vector<double> above(place.size(), -1), below(place.size(), -1);
    std::vector<std::size_t> way;
    double up = 0, down = 0;
    for (std::size_t node = 0; node < place.size(); ++node) {
      std::size_t at = node;
      for (; above[at] < 0 && place[at].parent >= 0; at = static_cast<std::size_t>(place[at].parent)) way.push_back(at);
      if (place[at].parent < 0) above[at] = below[at] = 0;
      for (; !way.empty(); way.pop_back()) {
        at = way.back();
        const TreePlace& here = place[at];
        const auto parent = static_cast<std::size_t>(here.parent);
        const int siblings = (place[parent].children[0] >= 0) + (place[parent].children[1] >= 0);
        const double extra = here.child_type == 0 ? detour_ : 0;
        above[at] = above[parent] + edge(edge_of[at], siblings) + extra;
        below[at] = below[parent] + edge(ups + edge_of[at], siblings) + extra;
      }
      up = std::max(up, above[node]), down = std::max(down, below[node]);
    }
    return up + down;
  }

  const ChannelView& v_;
  const Services& s_;
  double bytes_, op_, inside_, latency_, detour_;
};

/// Until the first chunk reaches the root, links carry only upward chunks, and after the last has reached it only
/// downward ones: chunks that pass then do so at half the load.
double tree(const ChannelView& v, const Services& services, const Stream& stream, double scale) {
  constexpr double half = 0.5;
  const double bytes = static_cast<double>(stream.loops > 0 ? stream.slice : stream.tail_slice) * scale;
  Pipeline p = pipeline(v, services, stream, scale, half);
  p.fill = TreeFill(v, services, bytes)();
  double gap_alone = services.slowest_gpu(bytes, half);
  if (v.comm.nodes() > 1) gap_alone = std::max(gap_alone, services.network_gap(bytes) * half);
  const double early = std::min(static_cast<double>(p.slices - 1), std::floor(p.fill / 2 / gap_alone));
  return pipeline_makespan(p) - early * std::max(0.0, p.gap - gap_alone);
}

double makespan(const ChannelView& v, const Services& services, const Stream& stream, double scale) {
  switch (stream.pattern) {
    case StreamPattern::ring: return ring(v, services, stream, scale);
    case StreamPattern::chain: return chain(v, services, stream, scale);
    case StreamPattern::tree: return tree(v, services, stream, scale);
  }
  return 0;
}

}  // namespace

ChannelTime time_channel(const ChannelView& v) {
  const Stream stream = find_by_algorithm(v.plan.algorithm)->stream(v.comm, v.plan, v.channel);
  const Services services(v);
  ChannelTime t;
  if (v.rate <= 0) {
    t.makespan = std::numeric_limits<double>::infinity();
    return t;
  }
  t.makespan = makespan(v, services, stream, 1);
  t.latency = std::min(t.makespan, makespan(v, services, stream, 0));
  const double per_loop = static_cast<double>(stream.sends);
  const auto busy = [&](int slices, std::int64_t slice) {
    const double bytes = static_cast<double>(slice);
    const double gpu = services.slowest_gpu(bytes, 1);
    const double network = v.comm.nodes() > 1 ? services.network_gap(bytes) : 0;
    t.by_proxy |= v.comm.nodes() > 1 && network > gpu && v.costs.proxy_round(bytes) >= network;
    return per_loop * slices * std::max(gpu, network);
  };
  if (stream.loops > 0) t.work += static_cast<double>(stream.loops) * busy(stream.slices, stream.slice);
  if (stream.tail_slices > 0) t.work += busy(stream.tail_slices, stream.tail_slice);
  const double payload =
      static_cast<double>(stream.loops * stream.slices * stream.slice + stream.tail_slices * stream.tail_slice);
  t.transfer = std::max(0.0, std::min(t.makespan - t.latency, per_loop * payload / v.rate));
  return t;
}

}  // namespace fabricast
