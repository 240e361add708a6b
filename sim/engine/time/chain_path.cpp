// The pipeline of a chain, a broadcast from its root or a reduce towards it: hop by hop through all nodes.
//
//   T(N) = T(n) + (N - n) ( t(n) - t(1) ) / (n - 1),        n = min( N, 16 )                                        (1)
//
// N is the number of nodes, T the makespan of all slices (pipeline.hpp) and t that of a single one, both in s. A
// further node delays the first slice by one hop and changes nothing else, as all slices go at the pace of the slowest
// hop: that one is kept as a gap at the first rank, whichever nodes are shown.
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
    // With cut-through a GPU hands on the first line of a slice: a hop then costs the overhead, and no copy.
    inside_ = v_.costs.hop_inside + (v_.costs.cut_through ? v_.costs.gpu_overhead(b) : s_.threads(b));
    if (bytes.whole > 0) find_parts();
    if (v_.comm.nodes() < 2) return;
    const ChannelShape& shape = v_.comm.ring_shape(v_.channel);
    // A proxy thread belongs to a GPU and takes whole messages, so done channels alone are left out; a NIC takes bytes.
    for (int c = 0; c < v_.plan.channels; ++c) {
      const ChannelShape& other = v_.comm.ring_shape(c);
      const double use = v_.use[static_cast<std::size_t>(c)];
      if (other.nic_out == shape.nic_out) by_nic_ += use;
      if (other.gpus.back() == shape.gpus.back()) by_proxy_ += use > 0 ? 1 : 0;
    }
    hop_ = s_.ring_hop(b);
    across_ = s_.threads(b) + v_.costs.proxy(b) + b * s_.at_nic() + hop_.latency;
    find_contentions();
  }

  Pipeline over(std::int64_t nodes) const {
    Pipeline path;
    const std::int64_t workers = nodes * gpus_;
    std::int64_t left = 0;  // nodes
    for (std::int64_t i = 0; i < workers; ++i) {
      const int position = static_cast<int>((stream_.start + i) % gpus_);
      // The last rank hands nothing on: it is timed as one that receives.
      if (i + 1 == workers) {
        path.stations.push_back(worker([&](double bytes) { return s_.receive(bytes); }));
        break;
      }
      // What leaves the node is copied to the NIC's buffer: no link to another GPU takes part.
      const bool leaves = hop_.pass > 0 && position + 1 == gpus_;
      Station w =
          worker([&](double b) { return leaves ? s_.threads(b) : std::max(s_.threads(b), link(left, position, b)); });
      // The share counts all messages that ever cross a link, `worst_` those of one moment: the milder one is what
      // holds.
      if (i == 0 && v_.by_network) w.gap = bytes_.whole * std::min(1 / v_.rate, worst_);
      if (leaves) {
        path.stations.push_back(w);
        add_network(path, nodes, left++);
        continue;
      }
      w.latency = v_.costs.hop_inside;
      if (v_.costs.cut_through) w.hand_on = v_.costs.gpu_overhead(bytes_.whole);
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
    // Few shapes are left by now, so all pairs of them are compared.
    double longest = 0;
    for (const auto& a : arrivals)
      for (const auto& b : arrivals) {
        double later = 0, earlier = 0;
        for (std::size_t r = 0; r < a.size(); ++r)
          later = std::max(later, a[r] - b[r]), earlier = std::max(earlier, b[r] - a[r]);
        longest = std::max(longest, later + earlier);
      }
    // Two calls in a row pay for both directions together, one of them for half.
    return longest / 2;
  }

 private:
  /// Nodes that stand for all others: those in between differ from the root's neighbour by the same in all channels.
  std::vector<std::uint32_t> outer_nodes() const {
    const auto nodes = static_cast<std::uint32_t>(v_.comm.nodes());
    std::vector<std::uint32_t> outer{0};
    if (nodes > 1) outer.push_back(1);
    if (nodes > 2) outer.push_back(nodes - 1);
    return outer;
  }
  /// s; when the first slice comes to the GPUs of some nodes.
  std::vector<double> arrivals_of(int channel, const std::vector<std::uint32_t>& nodes) const {
    const std::int64_t n = v_.comm.nodes(), ranks = n * gpus_;
    const std::vector<int>& gpus = v_.comm.ring_shape(channel).gpus;
    const int start = find_by_algorithm(v_.plan.algorithm)->stream(v_.comm, v_.plan, channel).start;
    // A reduce whose root ends its node begins with the next.
    const std::int64_t first = v_.plan.op == CollectiveOp::reduce && start == 0 ? gpus_ : start;
    std::vector<double> arrivals(nodes.size() * static_cast<std::size_t>(gpus_));
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (int p = 0; p < gpus_; ++p) {
        const std::int64_t at =
            (std::int64_t{nodes[i]} * gpus_ + p - first + ranks) % ranks;  // hops from the first rank
        // The chain crosses the network wherever it comes to the end of a node.
        const std::int64_t across = n > 1 ? (at + start) / gpus_ : 0;
        arrivals[i * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(gpus[static_cast<std::size_t>(p)])] =
            static_cast<double>(across) * across_ + static_cast<double>(at - across) * inside_;
      }
    return arrivals;
  }

  /// s; of a link inside the node that the chain comes to after so many others.
  double link(std::int64_t node, int position, double bytes) const {
    const auto hop = static_cast<std::size_t>(position);
    const double part = hop < parts_.size() ? parts_[hop] : 1;
    return part * s_.link_in(node_at(node), hop, bytes);
  }
  /// Nodes with a fault of their own come first where a few stand for all: one of them may be the slowest of the chain.
  std::uint32_t node_at(std::int64_t number) const {
    const std::int64_t nodes = v_.comm.nodes();
    const bool after_root = v_.plan.op == CollectiveOp::reduce && stream_.start == 0;
    const auto& faulty = v_.loads.faulty_inside;
    if (nodes > chain_nodes && number < static_cast<std::int64_t>(faulty.size()))
      return std::next(faulty.begin(), number)->first;
    return static_cast<std::uint32_t>((number + (after_root ? 1 : 0)) % nodes);
  }

  /// What of all that uses a hop's links is there while this channel's slices are.
  void find_parts() {
    const double b = bytes_.whole, slices = bytes_.slices;
    // Channels enter a node at positions of their own and pass a hop at other times: as far as the times of their
    // slices there do not overlap, they do not share it. The first slice is through as soon as it is copied, the others
    // follow at the pace of the slowest stage.
    const double duration =
        (slices - 1) * std::max({s_.threads(b), v_.costs.proxy_round(b), b / v_.rate}) + s_.threads(b);
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
          all += use, meets += use * std::max(0.0, 1 - apart / duration);
        };
        add(gpus[p], 0, out, all_out), add(gpus[p + 1], 1, in, all_in);
      }
      // Either end may be the one that has more company.
      parts_.push_back(std::max(out, in) / std::max(all_out, all_in));
    }
  }

  template <class Seconds>
  Station worker(Seconds seconds) const {
    Station w;
    w.whole = {seconds(bytes_.whole), 0, 0}, w.tail = {seconds(bytes_.tail), 0, 0};
    return w;
  }

  /// \param number  of the hop, of those of so many nodes
  void add_network(Pipeline& path, std::int64_t nodes, std::int64_t number) const {
    Station proxy, nic;
    proxy.server = nic.server = true;
    proxy.whole = s_.proxy({1, by_proxy_, by_proxy_}, bytes_.whole);
    proxy.tail = s_.proxy({1, by_proxy_, by_proxy_}, bytes_.tail);
    const Services::Hop& mean = s_.mean_hop();
    double alone = mean.alone, round = by_nic_ * mean.alone, latency = mean.latency;
    if (!contentions_.empty()) {
      // Fewer hops than there are stand for all of them: evenly spaced in `order_`, so slow and fast ones in
      // proportion.
      const auto all = static_cast<std::int64_t>(contentions_.size());
      const std::int64_t shown = std::min(all, nodes), at = shown > 1 ? number * (all - 1) / (shown - 1) : 0;
      const std::size_t edge = order_[static_cast<std::size_t>(std::min(at, all - 1))];
      alone = std::max(s_.here(edge), contentions_[edge].alone), latency = s_.latency(edge);
      round = std::max({by_nic_ * s_.here(edge), s_.staging(), contentions_[edge].round});
    }
    // A channel of a chain has one message per slice at its NIC, so what runs in step with it is the whole round.
    const auto service = [&](double bytes) { return Service{bytes * alone, bytes * round, bytes * round}; };
    nic.whole = service(bytes_.whole), nic.tail = service(bytes_.tail);
    nic.latency = v_.costs.network_latency(bytes_.whole) + latency;
    // A slot comes back as slowly as a message goes.
    nic.credit = nic.latency;
    path.stations.push_back(proxy);
    path.stations.push_back(nic);
  }

  /// How crowded each hop is while slices pass it.
  void find_contentions() {
    const EdgePaths* paths = v_.loads.network->edge_paths();
    if (!paths || bytes_.whole <= 0) return;
    const double b = bytes_.whole;
    const std::size_t channels = paths->edges.size(), own = static_cast<std::size_t>(v_.channel);
    // Who meets whom hangs on the times, and they on who meets whom: they are taken as if each hop had its links alone.
    EdgeTimes times;
    for (std::size_t c = 0; c < channels; ++c) times.push_back(times_of(c, paths->edges[c].size()));
    for (std::size_t e = 0; e < paths->edges[own].size(); ++e)
      contentions_.push_back(edge_contention(v_, static_cast<std::uint32_t>(own), e, times));
    worst_ = std::max(s_.slowest_link(b) / b, s_.staging());
    for (const EdgeContention& c : contentions_) worst_ = std::max(worst_, c.round);
    // A short chain shows all hops where they are.
    order_.resize(contentions_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (v_.comm.nodes() <= chain_nodes) return;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t x, std::size_t y) { return contentions_[x].alone < contentions_[y].alone; });
  }

  /// Of a channel's hops, as far as their own links go.
  std::vector<EdgeTime> times_of(std::size_t channel, std::size_t edges) const {
    const double b = bytes_.whole, slices = bytes_.slices;
    const Stream stream = find_by_algorithm(v_.plan.algorithm)->stream(v_.comm, v_.plan, static_cast<int>(channel));
    std::vector<EdgeTime> times;
    // The first slice leaves the root's node after the GPUs that come behind the root in it.
    double now = inside_ * (gpus_ - 1 - stream.start);
    double pace = std::max({s_.threads(b), v_.costs.proxy_round(b), b * by_nic_ * s_.at_nic()});
    for (std::size_t e = 0; e < edges; ++e) {
      const double link = b * slowest_link(v_, static_cast<std::uint32_t>(channel), e);
      pace = std::max(pace, link);
      times.push_back({now, (slices - 1) * pace + link});
      // `across_` has the fastest NIC in it: the hop's own link takes its place.
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
  double inside_ = 0, across_ = 0;    ///< s; of the first slice over a hop
  NetworkHop hop_;
  std::vector<double> parts_;                               ///< by position
  std::vector<EdgeContention> contentions_;                           ///< by hop, in the chain's order; empty: not known
  std::vector<std::size_t> order_;                          ///< in which hops stand for others
  double worst_ = std::numeric_limits<double>::infinity();  ///< s per byte of the most crowded hop
};

}  // namespace

double chain_skew(const Services& services, const Stream& stream, SliceBytes bytes) {
  return ChainPath(services, stream, bytes).skew();
}

double chain_makespan(const Services& services, const Stream& stream, SliceBytes bytes) {
  const ChainPath chain(services, stream, bytes);
  const auto makespan = [&](std::int64_t nodes, std::int64_t slices, std::int64_t tails) {
    Pipeline path = chain.over(nodes);
    path.slots = stream.slots, path.slices = slices, path.tails = tails;
    return pipeline_makespan(path);
  };
  const std::int64_t nodes = services.view().comm.nodes(), shown = std::min(nodes, chain_nodes);
  const double all = makespan(shown, stream.loops * stream.slices, stream.tail_slices);
  if (nodes == shown) return all;
  // (1): a single slice meets no other, so what it takes longer over more nodes is hops alone.
  const double hop = (makespan(shown, 1, 0) - makespan(1, 1, 0)) / static_cast<double>(shown - 1);
  return all + static_cast<double>(nodes - shown) * hop;
}

}  // namespace fabricast
