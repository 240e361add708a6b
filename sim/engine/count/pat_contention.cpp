// (1) of pat_contention.hpp, one dimension after the other. The messages of all channels are routed concurrently and
// added to their links. Then each message finds the most loaded link of its path, and the links are cleared for the
// next dimension. So only the paths of one dimension are in memory, and no message is routed twice: the same pass
// counts what messages cross over all dimensions, (1) of fabric_count.hpp.
#include "pat_contention.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>

#include "crossings.hpp"
#include "fabricast/collective/pat.hpp"
#include "fabricast/core/parallel.hpp"

namespace fabricast {

namespace {

/// The links between switches that the queue pairs of one channel's messages on one dimension cross, concatenated.
struct Crossed {
  struct Link {
    std::uint32_t resource;
    float weight;
  };
  std::vector<Link> links;
  std::vector<std::uint32_t> ends;  ///< by rank and queue pair: end of its links in the list

  std::span<const Link> path(std::size_t number) const {
    const std::size_t begin = number > 0 ? ends[number - 1] : 0;
    return std::span(links).subspan(begin, ends[number] - begin);
  }
};

/// The distinct contentions of one channel's messages.
class Kinds {
 public:
  explicit Kinds(const FabricCount::Input& input) : in_(input), contentions_(1) {
    // Without faults, links of one class are alike.
    if (!in_.segment.links.all_nominal()) return;
    const std::span<const LinkClass> classes = in_.fabric.classes();
    rate_of_class_.assign(classes.size(), 0);
    // True for links between switches. An operation may reach less of a port's rate, but ports are not looked up here.
    one_rate_ =
        std::all_of(classes.begin(), classes.end(), [&](const LinkClass& c) { return c.rate == classes[0].rate; });
  }
  const std::vector<PatContentions::Contention>& contentions() const { return contentions_; }
  std::uint64_t kind(const PatContentions::Contention& contention) const {
    return kind_of(in_, contention.resource, false);
  }
  /// B/s
  double rate(std::uint32_t resource) {
    if (one_rate_ && resource < in_.fabric.links()) return in_.fabric.classes().front().rate.value;
    if (rate_of_class_.empty() || resource >= in_.fabric.links())
      return rate_of(in_.fabric, in_.router, in_.segment, resource);
    double& rate = rate_of_class_[in_.fabric.class_index(LinkId(resource))];
    if (rate == 0) rate = rate_of(in_.fabric, in_.router, in_.segment, resource);
    return rate;
  }

  /// Contentions that differ by less than a percent share a number, because a number of 16 bits is kept for every rank,
  /// channel and dimension. Of the 52 bits of the mantissa 6 are kept, so the error is at most 1/128.
  std::uint16_t number_of(double messages, std::uint32_t resource, bool in_turn) {
    constexpr std::uint64_t unit = std::uint64_t{1} << 46;
    messages = std::bit_cast<double>((std::bit_cast<std::uint64_t>(messages) + unit / 2) & ~(unit - 1));
    const std::uint64_t kind = kind_of(in_, resource, false);
    Recent& recent = recent_[(std::bit_cast<std::uint64_t>(messages) >> 44 ^ kind ^ in_turn) % recent_.size()];
    if (recent.messages == messages && recent.kind == kind && recent.in_turn == in_turn) return recent.number;
    const auto [it, fresh] =
        numbers_.emplace(std::tuple(kind, messages, in_turn), static_cast<std::uint16_t>(contentions_.size()));
    if (fresh) contentions_.push_back({messages, resource, in_turn});
    FABRICAST_CHECK(contentions_.size() < 0x10000, "contentions are numbered with 16 bits");
    recent = {messages, kind, in_turn, it->second};
    return it->second;
  }

 private:
  struct Recent {
    double messages = 0;
    std::uint64_t kind = 0;
    bool in_turn = false;
    std::uint16_t number = 0;
  };
  const FabricCount::Input& in_;
  std::vector<PatContentions::Contention> contentions_;  ///< the first one stands for none
  bool one_rate_ = false;
  std::vector<double> rate_of_class_;  ///< 0: not known yet; empty if links of a class may differ
  std::array<Recent, 256> recent_{};   ///< recent numbers, which saves most searches of the map
  std::map<std::tuple<std::uint64_t, double, bool>, std::uint16_t> numbers_;
};

/// The state of one channel. Each channel is used by one thread at a time.
struct Channel {
  Crossed crossed;  ///< of the dimension
  ChannelCount count;
  Walk walk;
  Kinds kinds;
  std::uint64_t blocks = 0;  ///< sent and received by every rank, if paths end at the links of its port
};

class Counter {
 public:
  explicit Counter(const FabricCount::Input& input)
      : in_(input),
        ranks_(input.comm.ranks()),
        pairs_(static_cast<std::uint32_t>(input.comm.qps_per_connection)),
        messages_(zeros(input.fabric.links() + input.router.bundles())) {
    const std::uint32_t resources = input.fabric.links() + input.router.bundles();
    for (int c = 0; c < input.plan.channels; ++c)
      channels_.push_back({{}, ChannelCount(resources, static_cast<std::uint32_t>(c)), {}, Kinds(input), 0});
  }

  PatCount operator()() {
    auto found = std::make_shared<PatContentions>();
    found->ranks = ranks_;
    found->dimensions = pat_dimensions(ranks_);
    found->of.resize(channels_.size() * static_cast<std::size_t>(found->dimensions));
    for (int place = 0; place < found->dimensions; ++place) {
      for_each_channel([&](std::size_t c) { cross(static_cast<std::uint32_t>(c), place); });
      add_messages();
      for_each_channel([&](std::size_t c) {
        if (!channels_[c].crossed.links.empty()) found->of[at(*found, c, place)] = number(c);
      });
      clear_messages();
    }
    for_each_channel([&](std::size_t c) { count_ports(channels_[c]); });
    merge_contentions(*found);
    merge_trips(*found);
    // In a Clos without faults all ports are alike, and one stands for them.
    found->port = 2 * endpoint(0);
    if (!in_.segment.links.all_nominal() || !in_.fabric.clos()) add_ports(*found);
    return {count(), std::move(found)};
  }

 private:
  /// An array over all links, kept per thread, because clearing it for every group of a few nodes on a large fabric is
  /// expensive. Every user leaves it cleared.
  static std::vector<float>& zeros(std::size_t resources) {
    thread_local std::vector<float> kept;
    if (kept.size() < resources) kept.resize(resources, 0);
    return kept;
  }
  template <class Do>
  void for_each_channel(Do what) const {
    in_parallel(channels_.size(), in_.threads, what);
  }
  static std::size_t at(const PatContentions& contentions, std::size_t channel, int place) {
    return channel * static_cast<std::size_t>(contentions.dimensions) + static_cast<std::size_t>(place);
  }
  bool gathers() const { return in_.plan.op == CollectiveOp::all_gather; }
  // An all_gather begins with the far dimension, a reduce_scatter with the near one (docs/models/pat.md).
  int dimension(int place) const { return gathers() ? pat_dimensions(ranks_) - 1 - place : place; }
  std::uint32_t endpoint(std::int64_t rank) const {
    return in_.comm.endpoint(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(in_.comm.nic_of_gpu.front()),
                             in_.fabric.ports_per_node());
  }

  void cross(std::uint32_t number_of_channel, int place) {
    Channel& channel = channels_[number_of_channel];
    Crossed& crossed = channel.crossed;
    crossed.links.clear();
    crossed.ends.clear();
    const int d = dimension(place);
    const std::int64_t reach = std::int64_t{1} << d;
    const std::uint64_t blocks = pat_parents(ranks_, d).size();
    // If paths may not end at ports, the ends come from the router as well.
    const bool by_ports = in_.router.ends_at_ports();
    std::optional<Flow> direct;  // a flow that crosses only two ports; all of these have the same latency
    std::uint64_t directs = 0;
    Path path;
    for (std::int64_t sender = 0; sender < ranks_; ++sender) {
      // Connections are numbered by the rank that is closer to the root.
      const std::int64_t receiver = gathers() ? (sender + reach) % ranks_ : (sender + ranks_ - reach % ranks_) % ranks_;
      const std::int64_t number = d * ranks_ + (gathers() ? sender : receiver);
      const std::uint32_t from = endpoint(sender), to = endpoint(receiver);
      const bool is_direct = by_ports && in_.router.direct(from, to);
      if (is_direct) {
        // It crosses no link between switches, so only its number counts.
        direct = flow_between(in_.comm, from, to, number_of_channel, static_cast<std::uint32_t>(number % 2), 0);
        directs += pairs_;
      }
      for (std::uint32_t q = 0; q < pairs_; ++q) {
        // One list with end marks instead of a list for each rank and queue pair.
        if (!is_direct)
          add(channel, flow_between(in_.comm, from, to, number_of_channel, static_cast<std::uint32_t>(number % 2), q),
              blocks, path);
        crossed.ends.push_back(static_cast<std::uint32_t>(crossed.links.size()));
      }
    }
    if (by_ports) channel.blocks += blocks;
    // In a separate loop: links are scattered over memory, and the processor then loads many of them at once.
    if (!channel.walk.weighted)
      for (const Crossed::Link& l : crossed.links) channel.count.add(l.resource, blocks);
    if (direct && in_.router.route(*direct, path)) channel.walk.took(path.latency.value, *direct, directs);
  }

  void add(Channel& channel, const Flow& flow, std::uint64_t blocks, Path& path) const {
    if (!in_.router.route(flow, path)) {
      require_end(in_, flow);
      channel.walk.blocked = true;
      return;
    }
    channel.walk.weighted |= !path.weights.empty();
    // Ports come first and last. If all paths end there, they are counted once for all dimensions.
    const std::size_t last = path.resources.size() - 1;
    for (std::size_t i = 1; i < last; ++i) {
      channel.crossed.links.push_back({path.resources[i], static_cast<float>(path.weight(i))});
      if (!path.weights.empty()) channel.count.add(path.resources[i], count_of(path, i) * blocks);
    }
    if (!in_.router.ends_at_ports())
      for (const std::size_t i : {std::size_t{0}, last})
        channel.count.add(path.resources[i], count_of(path, i) * blocks);
    channel.walk.took(path.latency.value, flow);
  }

  void count_ports(Channel& channel) const {
    for (std::int64_t r = 0; channel.blocks > 0 && r < ranks_; ++r)
      for (const std::uint32_t port : {2 * endpoint(r), 2 * endpoint(r) + 1})
        channel.count.add(port, channel.blocks * pairs_);
  }

  /// All messages are added to their links before the first one looks up its contention. They are added in the order of
  /// channels, not of threads, because fractions are rounded. A connection uses its queue pairs in turn, so it counts
  /// with a fraction on each.
  void add_messages() {
    for (const Channel& c : channels_)
      for (const Crossed::Link& l : c.crossed.links) messages_[l.resource] += l.weight / static_cast<float>(pairs_);
  }
  void clear_messages() {
    std::size_t crossed = 0;
    for (const Channel& c : channels_) crossed += c.crossed.links.size();
    if (crossed > messages_.size() / 4) {
      std::fill(messages_.begin(), messages_.end(), 0);
      return;
    }
    // Only the links that were crossed, which is cheaper for a small group.
    for (const Channel& c : channels_)
      for (const Crossed::Link& l : c.crossed.links) messages_[l.resource] = 0;
  }

  std::vector<std::uint16_t> number(std::size_t channel) {
    Kinds& kinds = channels_[channel].kinds;
    const Crossed& crossed = channels_[channel].crossed;
    std::vector<std::uint16_t> numbers;
    numbers.reserve(static_cast<std::size_t>(ranks_));
    for (std::int64_t sender = 0; sender < ranks_; ++sender) {
      const std::size_t first = static_cast<std::size_t>(sender) * pairs_;
      expect(crossed, first);
      double messages = 0;
      Worst longest;
      for (std::uint32_t q = 0; q < pairs_; ++q) {
        const Worst worst = worst_of(kinds, crossed.path(first + q));
        // The kind of link is that of the slowest queue pair. The number of messages is the mean over all.
        if (worst.seconds > longest.seconds) longest = worst;
        messages += worst.messages / pairs_;
      }
      numbers.push_back(messages > 0 ? kinds.number_of(messages, longest.resource, same_path(first))
                                     : std::uint16_t{0});
    }
    return numbers;
  }

  /// Prefetches what will be read soon.
  void expect(const Crossed& crossed, std::size_t path) const {
    constexpr std::size_t ahead = 64;
    for (std::size_t i = path > 0 ? crossed.ends[path - 1] : 0; i < crossed.ends[path + pairs_ - 1]; ++i)
      if (i + ahead < crossed.links.size()) __builtin_prefetch(&messages_[crossed.links[i + ahead].resource]);
  }

  /// Whether a sender's first queue pairs of all channels take one path: its NIC sends such messages one after the
  /// other, so they are not on the link at once.
  bool same_path(std::size_t number) const {
    const auto first = channels_.front().crossed.path(number);
    return std::all_of(channels_.begin() + 1, channels_.end(), [&](const Channel& c) {
      const auto other = c.crossed.path(number);
      return std::equal(first.begin(), first.end(), other.begin(), other.end(),
                        [](const auto& a, const auto& b) { return a.resource == b.resource; });
    });
  }

  struct Worst {
    double seconds = 0;  ///< proportional to the time per byte, to compare links of different rates
    double messages = 0;
    std::uint32_t resource = 0;
  };
  /// The most loaded link of a queue pair's path.
  Worst worst_of(Kinds& kinds, std::span<const Crossed::Link> path) const {
    Worst worst;
    for (const Crossed::Link& link : path) {
      // The message itself counts as a whole, unless it is split over the queue pairs.
      const double rest = in_.comm.split_data_on_qps ? 0 : (1 - 1.0 / pairs_) * link.weight;
      const double all = messages_[link.resource] + rest;
      const double seconds = all / kinds.rate(link.resource);
      if (seconds > worst.seconds) worst = {seconds, all, link.resource};
    }
    return worst;
  }

  /// Each channel has numbered its contentions separately. Equal ones of different channels now get the same number.
  void merge_contentions(PatContentions& found) const {
    found.contentions.push_back({});
    std::map<std::tuple<std::uint64_t, double, bool>, std::uint16_t> known;
    std::vector<std::vector<std::uint16_t>> number_of(channels_.size());
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      const Kinds& kinds = channels_[c].kinds;
      number_of[c].push_back(0);
      for (const PatContentions::Contention& contention : std::span(kinds.contentions()).subspan(1)) {
        const auto [it, fresh] =
            known.emplace(std::tuple(kinds.kind(contention), contention.messages, contention.in_turn),
                          static_cast<std::uint16_t>(found.contentions.size()));
        if (fresh) found.contentions.push_back(contention);
        FABRICAST_CHECK(found.contentions.size() < 0x10000, "contentions are numbered with 16 bits");
        number_of[c].push_back(it->second);
      }
    }
    for_each_channel([&](std::size_t c) {
      for (int place = 0; place < found.dimensions; ++place)
        for (std::uint16_t& number : found.of[at(found, c, place)]) number = number_of[c][number];
    });
  }

  void merge_trips(PatContentions& found) const {
    Walk all;
    for (const Channel& c : channels_)
      for (const FabricCount::Trips& t : c.walk.trips) all.took(t.latency, t.first, t.count);
    found.trips = std::move(all.trips);
  }

  /// The ports of each rank, found by routing one of its connections.
  void add_ports(PatContentions& found) const {
    Path path;
    found.out.resize(static_cast<std::size_t>(ranks_));
    found.in = found.out;
    for (std::int64_t r = 0; r < ranks_; ++r) {
      const std::int64_t next = (r + 1) % ranks_;
      if (!in_.router.route(flow_between(in_.comm, endpoint(r), endpoint(next), 0, 0, 0), path)) continue;
      found.out[static_cast<std::size_t>(r)] = path.resources.front();
      found.in[static_cast<std::size_t>(next)] = path.resources.back();
    }
  }

  FabricCount count() {
    std::vector<ChannelCount> counts;
    std::vector<bool> blocked;
    bool weighted = false;
    for (Channel& c : channels_) {
      counts.push_back(std::move(c.count));
      blocked.push_back(c.walk.blocked);
      weighted |= c.walk.weighted;
    }
    return FabricCount(in_, std::move(counts), std::move(blocked), weighted);
  }

  const FabricCount::Input& in_;
  std::int64_t ranks_;
  std::uint32_t pairs_;
  std::vector<float>& messages_;  ///< on the current dimension, by resource
  std::vector<Channel> channels_;
};

}  // namespace

PatCount count_pat(const FabricCount::Input& input) { return Counter(input)(); }

}  // namespace fabricast
