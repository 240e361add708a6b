// (1) of services.hpp. The times per byte of all links that the channel needs are computed once, when the channel is
// timed, because the event graphs need the services of thousands of slices. For an edge e on which a NIC sends,
//
//   alone(e) = max( port, messages of other NICs on its most loaded link )                                          (2)
//
// because a NIC sends its own messages one after the other: they wait at the NIC and not on the links behind it.
#include "services.hpp"

#include <algorithm>
#include <limits>

#include "../count/edge_routes.hpp"
#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

namespace {

const EdgeGroups no_edges;

}  // namespace

Services::Services(const ChannelView& view, Looks looks)
    : v_(view), edges_(looks == Looks::at_edges ? view.loads.edges(view.channel) : no_edges) {
  const InsideGroups& inside = v_.loads.inside[static_cast<std::size_t>(v_.channel)];
  for (std::size_t i = 0; i < inside.transfers.size(); ++i) {
    const std::uint32_t g = inside.group[i];
    const double t = g == no_group ? 0 : contended(g);
    const NodeTransfer::Kind kind = inside.transfers[i].kind;
    if (kind == NodeTransfer::Kind::reduce) {
      reduce_.push_back(t);
    } else if (kind == NodeTransfer::Kind::multicast) {
      multicast_.push_back(t);
    } else if (g != no_group && kind != NodeTransfer::Kind::gpu_to_gpu) {
      contended_at_nic_ = std::max(contended_at_nic_, t);
      // The NICs of a GPU run in step.
      const LinkGroup& link = v_.loads.groups[g];
      alone_at_nic_ = std::max(alone_at_nic_, v_.costs.wire * link.nics / link.capacity);
    }
  }
  const auto channel = static_cast<std::size_t>(v_.channel);
  hop_seconds_ = hop_seconds(inside);
  // A ring moves at the pace of its worst node. A chain passes each node separately, so faults are kept by node.
  if (!v_.loads.faulty_inside.empty()) usual_hop_seconds_ = hop_seconds(v_.loads.usual_inside[channel]);
  for (const auto& [node, groups] : v_.loads.faulty_inside)
    faulty_hop_seconds_.emplace(node, hop_seconds(groups[channel]));
  worst_seconds_ = contended_at_nic_;
  // With switches that reduce, no NIC sends to another one, so the links of the tree replace the edges.
  if (find_by_algorithm(v_.plan.algorithm)->network_trees)
    for (const LinkGroup& g : v_.loads.groups) {
      const double own = g.connections[static_cast<std::size_t>(v_.channel)];
      if (g.inside || own == 0) continue;
      const double seconds = contended_seconds(g, v_.use, v_.costs.wire);
      if (seconds <= tree_seconds_) continue;
      tree_seconds_ = seconds;
      tree_sharers_ = seconds * g.capacity / (v_.costs.wire * own);
    }
  worst_seconds_ = std::max(worst_seconds_, tree_seconds_);
  for (const View& edge : edges_.views) {
    // If the port itself is the most loaded link, it carries only messages of its own NIC.
    const double alone = edge.group == edge.port ? here(edge) : std::max(here(edge), message(edge, edge.group));
    hops_.push_back({alone, edge.latency});
    worst_latency_ = std::max(worst_latency_, edge.latency);
    worst_seconds_ = std::max(worst_seconds_, contended(edge.group));
  }
  if (edges_.routes) routes_ = edges_.routes->route.data();
  // Without edges, the slowest link is found among all groups.
  if (looks == Looks::at_edges) return;
  for (std::uint32_t g = 0; g < v_.loads.groups.size(); ++g)
    if (!v_.loads.groups[g].inside && v_.loads.groups[g].connections[channel] > 0)
      worst_seconds_ = std::max(worst_seconds_, contended(g));
}

std::vector<double> Services::hop_seconds(const InsideGroups& inside) const {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < inside.transfers.size(); ++i)
    if (inside.transfers[i].kind == NodeTransfer::Kind::gpu_to_gpu)
      seconds.push_back(inside.group[i] == no_group ? 0 : contended(inside.group[i]));
  return seconds;
}

const Services::Hop& Services::mean_hop() const {
  if (mean_hop_) return *mean_hop_;
  mean_hop_ = Hop{};
  Hop& mean = *mean_hop_;
  if (edges_.empty()) return mean;
  for (std::size_t e = 0; e < edges_.size(); ++e) mean.alone += alone(e), mean.latency += latency(e);
  mean.alone /= static_cast<double>(edges_.size());
  mean.latency /= static_cast<double>(edges_.size());
  return mean;
}

double Services::at_nic() const {
  double least = std::numeric_limits<double>::infinity();
  for (const View& edge : edges_.views) least = std::min(least, here(edge));
  return least;
}

double Services::threads(double bytes, double part) const {
  return v_.costs.gpu_overhead(bytes).value + copying(bytes, part);
}

double Services::copying(double bytes, double part) const {
  return v_.costs.copies * bytes / (v_.costs.copy_rate.value * part);
}

double Services::receiving(double bytes, double part) const { return v_.costs.last_receive * copying(bytes, part); }

double Services::link(std::size_t hop, double bytes) const {
  return hop < hop_seconds_.size() ? hop_seconds_[hop] * bytes : 0;
}

double Services::link_in(std::uint32_t node, std::size_t hop, double bytes) const {
  if (faulty_hop_seconds_.empty()) return link(hop, bytes);
  // All nodes without a fault of their own are alike.
  const auto it = faulty_hop_seconds_.find(node);
  const std::vector<double>& seconds = it == faulty_hop_seconds_.end() ? usual_hop_seconds_ : it->second;
  return hop < seconds.size() ? seconds[hop] * bytes : 0;
}

double Services::slowest_link(double bytes) const {
  double slowest = 0;
  for (std::size_t h = 0; h < hop_seconds_.size(); ++h) slowest = std::max(slowest, link(h, bytes));
  return slowest;
}

double Services::slowest_gpu(double bytes) const {
  // NVLSTree: an inner node of a tree has a parent and two children.
  const int neighbours = static_cast<int>(std::min<std::int64_t>(3, v_.comm.nodes() - 1));
  double slowest = std::max(threads(bytes, 1 / v_.costs.fan_out(neighbours)), slowest_link(bytes));
  for (std::size_t h = 0; h < std::max(reduce_.size(), multicast_.size()); ++h)
    slowest = std::max({slowest, reduce(h, bytes), multicast(h, bytes)});
  return slowest;
}

Service Services::tree(double bytes) const {
  const double all = bytes * tree_seconds_, sharers = std::max(1.0, tree_sharers_);
  // Low-latency trees have a window of pieces. A piece beyond the window waits for a round trip.
  const double trip = v_.loads.mean_latency(v_.channel), pieces = sharers * v_.comm.sharp.windows(bytes) * trip;
  return {all / sharers + v_.comm.sharp.waits(bytes) * trip, all, std::max(all, pieces)};
}

double Services::staggered_link(std::size_t hop, double bytes) const {
  if (edges_.empty()) return link(hop, bytes);
  const double n = connections(edges_.of(0), edges_.of(0).port), in_step = link(hop, bytes) / n;
  // Proxy thread and NIC serve channels one by one. `apart` is the resulting delay between channels at the next link.
  const double apart = std::max(v_.costs.proxy(bytes).value, bytes * mean_hop().alone);
  return in_step + (n - 1) * std::max(0.0, in_step - apart);
}

double Services::receive(double bytes, double part) const {
  return v_.costs.gpu_overhead(bytes).value + receiving(bytes, part);
}

double Services::connections(const View& edge, std::uint32_t group) const {
  const LinkGroup &port = v_.loads.groups[edge.port], &link = v_.loads.groups[group];
  // Only channels that cross this link: others of the NIC take other links behind it.
  double connections = 0;
  for (std::size_t c = 0; c < v_.use.size(); ++c)
    if (link.connections[c] > 0) connections += port.connections[c] * v_.use[c];
  return std::max(1.0, connections);
}

double Services::here(const View& edge) const {
  return std::max(v_.costs.wire / v_.loads.groups[edge.port].capacity, alone_at_nic_);
}

double Services::message(const View& edge, std::uint32_t group) const {
  // A group counts a fraction of a connection for each of its queue pairs. A message that uses only one queue pair is
  // on the link as a whole.
  const double parts = v_.comm.split_data_on_qps ? 1 : v_.comm.qps_per_connection;
  const double rest = (1 - 1 / parts) * v_.costs.wire / v_.loads.groups[group].capacity;
  return contended(group) / connections(edge, group) + rest;
}

Service Services::nic(std::size_t e, Messages messages, int siblings, bool up, double bytes) const {
  // Upward, messages of siblings come from different nodes and meet at the parent. Downward, they leave by one NIC.
  // Beyond the NICs, half of a tree's traffic goes in the other direction, at other times.
  const View& edge = edges_.of(e);
  const double own = here(edge) * siblings;
  const double alone = edge.middle == no_group ? 0 : v_.costs.wire / v_.loads.groups[edge.middle].capacity;
  const double beyond = edge.middle == no_group ? 0 : (message(edge, edge.middle) + alone) / 2;
  const double contention = std::max(contended(edge.group), contended_at_nic_);
  Service s;
  s.pass = bytes * std::max(own, beyond);
  s.step = bytes * messages.step * (up ? own : here(edge));
  const double port = v_.costs.wire / v_.loads.groups[edge.port].capacity;
  s.round = bytes * std::max(messages.all * port, contention);
  return s;
}

Service Services::mean_nic(double messages, double bytes) const {
  const double one = bytes * mean_hop().alone;
  return {one, messages * one, messages * one};
}

Service Services::proxy(Messages messages, double bytes) const {
  const double one = v_.costs.proxy(bytes).value;
  return {messages.own * one, messages.step * one, messages.all * one};
}

double Services::network_gap(double bytes) const {
  // Channels that are limited elsewhere leave more of a link to this one. Then the share is the better bound.
  const double share = v_.rate > 0 ? 1 / v_.rate : std::numeric_limits<double>::infinity();
  const double seconds = v_.by_network ? std::min(worst_seconds_, share) : worst_seconds_;
  return std::max(bytes * seconds, v_.costs.proxy_round(bytes).value);
}

NetworkHop Services::ring_hop(double bytes) const {
  NetworkHop h;
  const Hop& mean = mean_hop();
  h.pass = v_.costs.proxy(bytes).value + bytes * mean.alone;
  h.gap = network_gap(bytes);
  h.latency = v_.costs.network_latency(bytes).value + mean.latency;
  // The round trip of a slot is that of the longest hop, because the whole ring waits for it.
  h.credit = v_.costs.network_latency(bytes).value + 2 * worst_latency_ - mean.latency;
  return h;
}

}  // namespace fabricast
