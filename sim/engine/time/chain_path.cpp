// The pipeline of a chain, a broadcast from its root or a reduce towards it: hop by hop through all nodes.
//
//   T(N) = T(n) + (N - n) ( t(n) - t(1) ) / (n - 1),        n = min( N, 16 )                                        (1)
//
// N is the number of nodes, T the makespan of all slices (pipeline.hpp) and t that of a single one, both in s. Each
// further node delays the first slice by one hop and changes nothing else, because all slices go at the pace of the
// slowest hop. This pace is kept as a gap at the first rank, whichever nodes are timed.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "../count/network_counter.hpp"
#include "edge_contention.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "paths.hpp"

namespace fabricast {

namespace {

class ChainPath {
 public:
  ChainPath(const Services& services, const Stream& stream, SliceBytes bytes)
      : s_(services), v_(services.view()), stream_(stream), bytes_(bytes), gpus_(v_.comm.gpus()) {
    const double b = bytes.whole;
    // With cut-through a GPU forwards a slice line by line: a hop then costs the overhead and no copy.
    inside_ = v_.costs.hop_inside.value + (v_.costs.cut_through ? v_.costs.gpu_overhead(b).value : s_.threads(b));
    if (bytes.whole > 0) find_parts();
    if (v_.comm.nodes() < 2) return;
    const ChannelShape& shape = v_.comm.ring_shape(v_.channel);
    // A proxy thread belongs to a GPU and handles messages, so each open channel counts in full. A NIC handles bytes.
    for (int c = 0; c < v_.plan.channels; ++c) {
      const ChannelShape& other = v_.comm.ring_shape(c);
      const double use = v_.use[static_cast<std::size_t>(c)];
      if (other.nic_out == shape.nic_out) by_nic_ += use;
      if (other.gpus.back() == shape.gpus.back()) by_proxy_ += use > 0 ? 1 : 0;
    }
    hop_ = s_.ring_hop(b);
    across_ = s_.threads(b) + v_.costs.proxy(b).value + b * s_.at_nic() + hop_.latency;
    find_contentions();
  }

  Pipeline over(std::int64_t nodes) const {
    Pipeline path;
    const std::int64_t workers = nodes * gpus_;
    std::int64_t left = 0;  // nodes
    for (std::int64_t i = 0; i < workers; ++i) {
      const int position = static_cast<int>((stream_.start + i) % gpus_);
      // The last rank only receives.
      if (i + 1 == workers) {
        path.stations.push_back(worker([&](double bytes) { return s_.receive(bytes); }));
        break;
      }
      // Data that leave the node are copied to the NIC's buffer and cross no link to another GPU.
      const bool leaves = hop_.pass > 0 && position + 1 == gpus_;
      Station w =
          worker([&](double b) { return leaves ? s_.threads(b) : std::max(s_.threads(b), link(left, position, b)); });
      // The share counts all messages that cross a link during the call, and `worst_` those of one time. The milder
      // bound holds.
      if (i == 0 && v_.by_network) w.gap = bytes_.whole * std::min(1 / v_.rate, worst_);
      if (leaves) {
        path.stations.push_back(w);
        add_network(path, nodes, left++);
        continue;
      }
      w.latency = v_.costs.hop_inside.value;
      if (v_.costs.cut_through) w.hand_on = v_.costs.gpu_overhead(bytes_.whole).value;
      path.stations.push_back(w);
    }
    return path;
  }

  /// (1) of paths.hpp
  double skew() const {
    const std::vector<std::uint32_t> nodes = outer_nodes();
    std::vector<std::vector<double>> arrivals;  // of the first slice, by shape of channels, then by GPU of those nodes
    for (int c = 0; c < v_.plan.channels; ++c)
      if (v_.use[static_cast<std::size_t>(c)] > 0) {
        std::vector<double> first = arrivals_of(c, nodes);
        if (std::find(arrivals.begin(), arrivals.end(), first) == arrivals.end()) arrivals.push_back(std::move(first));
      }
    // Few distinct shapes remain, so all pairs of them are compared.
    double longest = 0;
    for (const auto& a : arrivals)
      for (const auto& b : arrivals) {
        double later = 0, earlier = 0;
        for (std::size_t r = 0; r < a.size(); ++r) {
          later = std::max(later, a[r] - b[r]);
          earlier = std::max(earlier, b[r] - a[r]);
        }
        longest = std::max(longest, later + earlier);
      }
    // Two consecutive calls pay for both directions together, so one call pays for half.
    return longest / 2;
  }

 private:
  /// Nodes that stand for all others. Nodes in between differ from the root's neighbour by the same time in all
  /// channels.
  std::vector<std::uint32_t> outer_nodes() const {
    const auto nodes = static_cast<std::uint32_t>(v_.comm.nodes());
    std::vector<std::uint32_t> outer{0};
    if (nodes > 1) outer.push_back(1);
    if (nodes > 2) outer.push_back(nodes - 1);
    return outer;
  }
  /// s; when the first slice arrives at the GPUs of some nodes.
  std::vector<double> arrivals_of(int channel, const std::vector<std::uint32_t>& nodes) const {
    const std::int64_t n = v_.comm.nodes(), ranks = n * gpus_;
    const std::vector<int>& gpus = v_.comm.ring_shape(channel).gpus;
    const int start = find_by_algorithm(v_.plan.algorithm)->stream(v_.comm, v_.plan, channel).start;
    // A reduce whose root is the last GPU of its node begins in the next node.
    const std::int64_t first = v_.plan.op == CollectiveOp::reduce && start == 0 ? gpus_ : start;
    std::vector<double> arrivals(nodes.size() * static_cast<std::size_t>(gpus_));
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (int p = 0; p < gpus_; ++p) {
        const std::int64_t at =
            (std::int64_t{nodes[i]} * gpus_ + p - first + ranks) % ranks;  // hops from the first rank
        // The chain crosses the network at the end of each node.
        const std::int64_t across = n > 1 ? (at + start) / gpus_ : 0;
        arrivals[i * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(gpus[static_cast<std::size_t>(p)])] =
            static_cast<double>(across) * across_ + static_cast<double>(at - across) * inside_;
      }
    return arrivals;
  }

  /// s; a link inside a node. \param node  number of nodes that the chain has passed before
  double link(std::int64_t node, int position, double bytes) const {
    const auto hop = static_cast<std::size_t>(position);
    const double part = hop < parts_.size() ? parts_[hop] : 1;
    return part * s_.link_in(node_at(node), hop, bytes);
  }
  /// If a few nodes stand for all, those with a fault of their own come first: one of them may be the slowest of the
  /// chain.
  std::uint32_t node_at(std::int64_t number) const {
    const std::int64_t nodes = v_.comm.nodes();
    const bool after_root = v_.plan.op == CollectiveOp::reduce && stream_.start == 0;
    const auto& faulty = v_.loads.faulty_inside;
    if (nodes > chain_nodes && number < static_cast<std::int64_t>(faulty.size()))
      return std::next(faulty.begin(), number)->first;
    return static_cast<std::uint32_t>((number + (after_root ? 1 : 0)) % nodes);
  }

  /// Finds, for each hop, the fraction of its users that are present while this channel's slices are.
  void find_parts() {
    const double b = bytes_.whole, slices = bytes_.slices;
    // Channels enter a node at different positions and pass a hop at different times. They share it only as far as the
    // times of their slices overlap. The first slice is done as soon as it is copied, and the others follow at the pace
    // of the slowest stage.
    const double duration =
        (slices - 1) * std::max({s_.threads(b), v_.costs.proxy_round(b).value, b / v_.rate}) + s_.threads(b);
    const std::vector<int>& gpus = v_.comm.ring_shape(v_.channel).gpus;
    for (std::size_t p = 0; p + 1 < gpus.size(); ++p) {
      double out = 0, in = 0, all_out = 0, all_in = 0;
      for (int c = 0; c < v_.plan.channels; ++c) {
        const double use = v_.use[static_cast<std::size_t>(c)];
        const std::vector<int>& other = v_.comm.ring_shape(c).gpus;
        const int start = find_by_algorithm(v_.plan.algorithm)->stream(v_.comm, v_.plan, c).start;
        const auto add = [&](int gpu, std::ptrdiff_t back, double& meets, double& all) {
          const std::ptrdiff_t at = std::find(other.begin(), other.end(), gpu) - other.begin() - back;
          if (at < 0 || at + 1 == gpus_ || use == 0) return;
          const double apart =
              inside_ * std::abs(static_cast<double>((at - start) - (static_cast<std::ptrdiff_t>(p) - stream_.start)));
          all += use;
          meets += use * std::max(0.0, 1 - apart / duration);
        };
        add(gpus[p], 0, out, all_out);
        add(gpus[p + 1], 1, in, all_in);
      }
      // Either end of the hop may have more users.
      parts_.push_back(std::max(out, in) / std::max(all_out, all_in));
    }
  }

  template <class Seconds>
  Station worker(Seconds seconds) const {
    Station w;
    w.whole = {seconds(bytes_.whole), 0, 0};
    w.tail = {seconds(bytes_.tail), 0, 0};
    return w;
  }

  /// Adds the proxy thread and the NIC of a hop. \param number  number of the hop in a chain over `nodes` nodes
  void add_network(Pipeline& path, std::int64_t nodes, std::int64_t number) const {
    Station proxy, nic;
    proxy.server = nic.server = true;
    proxy.whole = s_.proxy({1, by_proxy_, by_proxy_}, bytes_.whole);
    proxy.tail = s_.proxy({1, by_proxy_, by_proxy_}, bytes_.tail);
    const Services::Hop& mean = s_.mean_hop();
    double alone = mean.alone, round = by_nic_ * mean.alone, latency = mean.latency;
    if (!contentions_.empty()) {
      // Fewer hops stand for all of them. They are evenly spaced in `order_`, so slow and fast ones are in proportion.
      const auto all = static_cast<std::int64_t>(contentions_.size());
      const std::int64_t shown = std::min(all, nodes), at = shown > 1 ? number * (all - 1) / (shown - 1) : 0;
      const std::size_t edge = order_[static_cast<std::size_t>(std::min(at, all - 1))];
      alone = std::max(s_.here(edge), contentions_[edge].alone);
      latency = s_.latency(edge);
      round = std::max({by_nic_ * s_.here(edge), s_.staging(), contentions_[edge].round});
    }
    // A channel of a chain has one message per slice at its NIC, so the messages in step with it are the whole round.
    const auto service = [&](double bytes) { return Service{bytes * alone, bytes * round, bytes * round}; };
    nic.whole = service(bytes_.whole);
    nic.tail = service(bytes_.tail);
    nic.latency = v_.costs.network_latency(bytes_.whole).value + latency;
    // A slot returns with the latency of a message.
    nic.credit = nic.latency;
    path.stations.push_back(proxy);
    path.stations.push_back(nic);
  }

  /// Finds the contention of each hop while slices pass it.
  void find_contentions() {
    const EdgePaths* paths = v_.loads.network->edge_paths();
    if (!paths || bytes_.whole <= 0) return;
    const double b = bytes_.whole;
    const std::size_t channels = paths->edges.size(), own = static_cast<std::size_t>(v_.channel);
    // Contention depends on the times, and they on contention. The times assume that each hop has its links to itself.
    EdgeTimes times;
    for (std::size_t c = 0; c < channels; ++c) times.push_back(times_of(c, paths->edges[c].size()));
    for (std::size_t e = 0; e < paths->edges[own].size(); ++e)
      contentions_.push_back(edge_contention(v_, static_cast<std::uint32_t>(own), e, times));
    worst_ = std::max(s_.slowest_link(b) / b, s_.staging());
    for (const EdgeContention& c : contentions_) worst_ = std::max(worst_, c.round);
    // A short chain has all hops in their places.
    order_.resize(contentions_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (v_.comm.nodes() <= chain_nodes) return;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t x, std::size_t y) { return contentions_[x].alone < contentions_[y].alone; });
  }

  /// When each hop of a channel carries its slices, without contention.
  std::vector<EdgeTime> times_of(std::size_t channel, std::size_t edges) const {
    const double b = bytes_.whole, slices = bytes_.slices;
    const Stream stream = find_by_algorithm(v_.plan.algorithm)->stream(v_.comm, v_.plan, static_cast<int>(channel));
    std::vector<EdgeTime> times;
    // The first slice leaves the root's node after passing the GPUs behind the root.
    double now = inside_ * (gpus_ - 1 - stream.start);
    double pace = std::max({s_.threads(b), v_.costs.proxy_round(b).value, b * by_nic_ * s_.at_nic()});
    for (std::size_t e = 0; e < edges; ++e) {
      const double link = b * slowest_link(v_, static_cast<std::uint32_t>(channel), e);
      pace = std::max(pace, link);
      times.push_back({now, (slices - 1) * pace + link});
      // `across_` contains the fastest NIC; replace it by the link of this hop.
      now += across_ + link - b * s_.at_nic() + inside_ * (gpus_ - 1);
    }
    return times;
  }

  const Services& s_;
  const ChannelView& v_;
  const Stream& stream_;
  SliceBytes bytes_;
  int gpus_;
  double by_nic_ = 0, by_proxy_ = 0;  ///< messages per slice of every open channel
  double inside_ = 0, across_ = 0;    ///< s; the first slice over a hop inside a node, and between nodes
  NetworkHop hop_;
  std::vector<double> parts_;                               ///< by position
  std::vector<EdgeContention> contentions_;                 ///< by hop, in the chain's order; empty: not known
  std::vector<std::size_t> order_;                          ///< order in which hops stand for others
  double worst_ = std::numeric_limits<double>::infinity();  ///< s per byte of the most loaded hop
};

}  // namespace

double chain_skew(const Services& services, const Stream& stream, SliceBytes bytes) {
  return ChainPath(services, stream, bytes).skew();
}

double chain_makespan(const Services& services, const Stream& stream, SliceBytes bytes) {
  const ChainPath chain(services, stream, bytes);
  const auto makespan = [&](std::int64_t nodes, std::int64_t slices, std::int64_t tails) {
    Pipeline path = chain.over(nodes);
    path.slots = stream.slots;
    path.slices = slices;
    path.tails = tails;
    return pipeline_makespan(path);
  };
  const std::int64_t nodes = services.view().comm.nodes(), shown = std::min(nodes, chain_nodes);
  const double all = makespan(shown, stream.loops * stream.slices, stream.tail_slices);
  if (nodes == shown) return all;
  // (1): a single slice meets no other, so its additional time over more nodes is that of the hops.
  const double hop = (makespan(shown, 1, 0) - makespan(1, 1, 0)) / static_cast<double>(shown - 1);
  return all + static_cast<double>(nodes - shown) * hop;
}

}  // namespace fabricast
