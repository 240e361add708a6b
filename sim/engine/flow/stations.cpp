#include "stations.hpp"

#include <algorithm>
#include <limits>

#include "fabricast/collective/double_tree.hpp"

namespace fabricast {

namespace {

/// Services of one channel's stations for slices of a given size. `scale` = 0 empties the slices but keeps their costs.
class Services {
 public:
  explicit Services(const ChannelView& view) : v_(view), edges_(view.loads.edges[static_cast<std::size_t>(view.channel)]) {
    const InsideGroups& inside = v_.loads.inside[static_cast<std::size_t>(v_.channel)];
    for (std::size_t i = 0; i < inside.transfers.size(); ++i) {
      const double t = inside.group[i] == no_group ? 0 : crowded(inside.group[i]);
      if (inside.transfers[i].kind == NodeTransfer::Kind::gpu_to_gpu) hop_seconds_.push_back(t);
      else at_nic_ = std::max(at_nic_, t);
    }
    network_seconds_ = 0, latency_ = 0, worst_seconds_ = at_nic_;
    for (std::size_t e = 0; e < edges_.group.size(); ++e) {
      const double t = std::max(at_nic_, crowded(edges_.group[e]));
      network_seconds_ += t, latency_ += edges_.latency[e];
      worst_seconds_ = std::max(worst_seconds_, t);
    }
    if (!edges_.group.empty()) {
      network_seconds_ /= static_cast<double>(edges_.group.size());
      latency_ /= static_cast<double>(edges_.group.size());
    }
  }

  /// Seconds per byte that a link gives while all its connections are active.
  double crowded(std::uint32_t group) const { return crowded_seconds(v_.loads.groups[group], v_.open, v_.costs.wire); }

  /// A slice at the GPU that sends it over the i-th hop inside the node; i out of range: to the NIC's buffer.
  double gpu(std::size_t hop, double bytes, double phase = 1) const {
    const double link = hop < hop_seconds_.size() ? hop_seconds_[hop] * phase : 0;
    return v_.costs.gpu_overhead(bytes) + bytes * std::max(1 / v_.costs.copy_rate, link);
  }
  double slowest_gpu(double bytes, double phase) const {
    double slowest = gpu(hop_seconds_.size(), bytes);
    for (std::size_t h = 0; h < hop_seconds_.size(); ++h) slowest = std::max(slowest, gpu(h, bytes, phase));
    return slowest;
  }
  /// A slice at a network station whose path takes `seconds` per byte.
  double network(double bytes, double seconds) const {
    return std::max(v_.costs.message + bytes * seconds, v_.costs.network_floor(bytes));
  }
  /// In the long run the slowest hop moves slices at the channel's own share.
  double network_gap(double bytes) const {
    const double share = v_.rate > 0 ? 1 / v_.rate : std::numeric_limits<double>::infinity();
    const double seconds = v_.by_network ? std::min(worst_seconds_, share) : worst_seconds_;
    return std::max(bytes * seconds, v_.costs.network_floor(bytes));
  }
  NetworkHop hop(double bytes) const {
    NetworkHop h;
    h.pass = network(bytes, network_seconds_);
    h.gap = network_gap(bytes);
    h.latency = v_.costs.network_latency(bytes) + latency_;
    return h;
  }
  double edge_seconds(std::size_t e) const { return std::max(at_nic_, crowded(edges_.group[e])); }
  std::size_t hops() const { return hop_seconds_.size(); }
  const EdgeGroups& edges() const { return edges_; }

 private:
  const ChannelView& v_;
  const EdgeGroups& edges_;
  std::vector<double> hop_seconds_;  ///< s/B by hop inside the node, in the algorithm's order
  double at_nic_ = 0;                ///< s/B between GPU and NIC
  double network_seconds_ = 0, latency_ = 0, worst_seconds_ = 0;
};

double ring(const ChannelView& v, const Services& services, const Stream& stream, double scale) {
  Ring r;
  r.sends = stream.sends, r.last_receive = stream.last_receive, r.last_factor = v.costs.last_receive;
  r.hop_inside = v.costs.hop_inside, r.network = v.comm.nodes() > 1, r.slots = stream.slots, r.loops = stream.loops;
  const auto loop = [&](int slices, std::int64_t slice) {
    RingLoop l;
    l.slices = slices;
    const double bytes = static_cast<double>(slice) * scale;
    for (int p = 0; p < v.comm.gpus(); ++p) l.op.push_back(services.gpu(static_cast<std::size_t>(p), bytes));
    if (r.network) l.hop = services.hop(bytes);
    return l;
  };
  if (stream.loops > 0) r.loop = loop(stream.slices, stream.slice);
  r.tail.slices = 0;
  if (stream.tail_slices > 0) r.tail = loop(stream.tail_slices, stream.tail_slice);
  return ring_makespan(r);
}

/// The slowest station of a pipeline, and what a slot's round trip allows.
double period(const ChannelView& v, const Services& services, int slots, double bytes, double phase) {
  double gap = services.slowest_gpu(bytes, 1);
  double trip = services.slowest_gpu(bytes, phase) * 2 + 2 * v.costs.hop_inside;
  if (v.comm.nodes() > 1) {
    const NetworkHop hop = services.hop(bytes);
    gap = std::max(gap, hop.gap);
    trip = std::max(trip, hop.pass * phase + 2 * hop.latency + services.gpu(services.hops(), bytes));
  }
  if (v.rate > 0 && v.by_network) gap = std::max(gap, bytes / v.rate);
  return std::max(gap, trip / slots);
}

Pipeline with_slices(Pipeline p, const Stream& stream, double tail_period) {
  p.slices = stream.loops;
  if (stream.loops == 0) p.slices = 1;
  else if (stream.tail_slices > 0) p.tail_period = tail_period;
  return p;
}

double chain(const ChannelView& v, const Services& services, const Stream& stream, double scale) {
  const double n = static_cast<double>(v.comm.ranks()), nodes = static_cast<double>(v.comm.nodes());
  const double bytes = static_cast<double>(stream.loops > 0 ? stream.slice : stream.tail_slice) * scale;
  Pipeline p;
  // n - 1 hops, one per node (but one) over the network; the last rank only receives.
  const double by_network = nodes > 1 ? nodes - 1 : 0;
  double op = 0;
  for (std::size_t h = 0; h < services.hops(); ++h) op += services.gpu(h, bytes) / static_cast<double>(std::max<std::size_t>(1, services.hops()));
  if (services.hops() == 0) op = services.gpu(0, bytes);
  p.fill = (n - 1) * op + v.costs.last_receive * op + (n - 1 - by_network) * v.costs.hop_inside;
  if (nodes > 1) {
    const NetworkHop hop = services.hop(bytes);
    p.fill += by_network * (hop.pass + hop.latency);
  }
  p.period = period(v, services, stream.slots, bytes, 1);
  const double tail = static_cast<double>(stream.tail_slice) * scale;
  return pipeline_makespan(with_slices(p, stream, stream.tail_slices > 0 ? period(v, services, stream.slots, tail, 1) : 0));
}

/// The longest way of a first chunk: from the end of some node's chain up to the root, and down to the end of another.
/// While the pipe fills, up and down take turns, so a link carries half of its steady load.
double tree_fill(const ChannelView& v, const Services& services, double bytes) {
  constexpr double half = 0.5;
  const double op = services.gpu(services.hops(), bytes), inside = services.slowest_gpu(bytes, half) + v.costs.hop_inside;
  const double chain_time = (v.comm.gpus() - 1) * inside;
  const double last = v.costs.last_receive * op;
  const std::int64_t nodes = v.comm.nodes();
  if (nodes == 1) return chain_time + op + chain_time + last;
  const EdgeGroups& edges = services.edges();
  const double latency = v.costs.network_latency(bytes);
  // With the balanced pattern first children come in one GPU further.
  const double detour = v.comm.tree_pattern == TreePattern::balanced && v.comm.gpus() > 1 ? inside : 0;
  const std::size_t ups = edges.group.size() / 2;
  const auto edge = [&](std::size_t e) {
    return services.network(bytes, services.edge_seconds(e) * half) + latency + edges.latency[e];
  };
  if (edges.uniform) {
    const double hop = edge(0) + op + detour;
    return chain_time + op + tree_depth(nodes) * 2 * hop + chain_time + last;
  }
  // Nodes in edge order are the non-root nodes in turn; walk each up to the root. Depth is logarithmic.
  const int index = v.comm.tree_index(v.channel);
  std::vector<std::int64_t> edge_of(static_cast<std::size_t>(nodes), -1);
  std::int64_t e = 0;
  for (std::int64_t node = 0; node < nodes; ++node)
    if (double_tree(nodes, node, index).parent >= 0) edge_of[static_cast<std::size_t>(node)] = e++;
  double up = 0, down = 0;
  std::vector<double> above(static_cast<std::size_t>(nodes), -1), below(static_cast<std::size_t>(nodes), -1);
  std::vector<std::int64_t> way;
  for (std::int64_t node = 0; node < nodes; ++node) {
    // Sums from the root to each node are shared between nodes.
    way.clear();
    std::int64_t at = node;
    while (above[static_cast<std::size_t>(at)] < 0) {
      const TreePlace place = double_tree(nodes, at, index);
      if (place.parent < 0) {
        above[static_cast<std::size_t>(at)] = below[static_cast<std::size_t>(at)] = 0;
        break;
      }
      way.push_back(at);
      at = place.parent;
    }
    while (!way.empty()) {
      at = way.back();
      way.pop_back();
      const TreePlace place = double_tree(nodes, at, index);
      const auto i = static_cast<std::size_t>(edge_of[static_cast<std::size_t>(at)]);
      const double extra = op + (place.child_type == 0 ? detour : 0);
      above[static_cast<std::size_t>(at)] = above[static_cast<std::size_t>(place.parent)] + edge(i) + extra;
      below[static_cast<std::size_t>(at)] = below[static_cast<std::size_t>(place.parent)] + edge(ups + i) + extra;
    }
    up = std::max(up, above[static_cast<std::size_t>(node)]);
    down = std::max(down, below[static_cast<std::size_t>(node)]);
  }
  return chain_time + op + up + down + chain_time + last;
}

double tree(const ChannelView& v, const Services& services, const Stream& stream, double scale) {
  const double bytes = static_cast<double>(stream.loops > 0 ? stream.slice : stream.tail_slice) * scale;
  Pipeline p;
  p.fill = tree_fill(v, services, bytes);
  p.period = period(v, services, stream.slots, bytes, 0.5);
  const double tail = static_cast<double>(stream.tail_slice) * scale;
  return pipeline_makespan(with_slices(p, stream, stream.tail_slices > 0 ? period(v, services, stream.slots, tail, 0.5) : 0));
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
    t.by_proxy |= v.comm.nodes() > 1 && network > gpu && v.costs.network_floor(bytes) >= network;
    return per_loop * slices * std::max(gpu, network);
  };
  if (stream.loops > 0) t.work += static_cast<double>(stream.loops) * busy(stream.slices, stream.slice);
  if (stream.tail_slices > 0) t.work += busy(stream.tail_slices, stream.tail_slice);
  const double payload = static_cast<double>(stream.loops * stream.slices * stream.slice + stream.tail_slices * stream.tail_slice);
  t.transfer = std::min(t.makespan - t.latency, per_loop * payload / v.rate);
  t.transfer = std::max(0.0, t.transfer);
  return t;
}

}  // namespace fabricast
