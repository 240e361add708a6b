// (1) of pat_crowds.hpp, one dimension after the other: the channels' messages are routed side by side and put on their
// links; then each message looks for the most crowded link of its path, and the links are emptied for the next
// dimension. So the paths of one dimension are held at a time, not of all.
#include "pat_crowds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

#include "crossings.hpp"
#include "fabricast/collective/pat.hpp"
#include "fabricast/core/parallel.hpp"

namespace fabricast {

namespace {

/// What the queue pairs of one channel's messages on one dimension cross between switches, one after the other.
struct Crossed {
  struct Link {
    std::uint32_t resource;
    float weight;
  };
  std::vector<Link> links;
  std::vector<std::uint32_t> ends;  ///< by rank and queue pair: where its links end
  std::vector<PatCrowds::Trips> trips;
  std::optional<Flow> direct;  ///< one of those between two ports alone, all of which are equally long
  std::uint64_t directs = 0;

  void took(double latency, const Flow& flow, std::uint64_t messages = 1) {
    const auto it = std::find_if(trips.begin(), trips.end(), [&](const auto& t) { return t.latency == latency; });
    if (it != trips.end())
      it->messages += messages;
    else
      trips.push_back({flow, latency, messages});
  }
};

class Counter {
 public:
  explicit Counter(const FabricCount::Input& input)
      : in_(input),
        ranks_(input.comm.ranks()),
        pairs_(static_cast<std::uint32_t>(input.comm.qps_per_connection)),
        messages_(zeros(input.fabric.links() + input.router.bundles())) {
    if (input.segment.links.all_nominal()) rate_of_class_.assign(input.fabric.classes().size(), 0);
  }

  std::shared_ptr<const PatCrowds> operator()() {
    auto found = std::make_shared<PatCrowds>();
    found->ranks = ranks_, found->dimensions = pat_dimensions(ranks_);
    found->crowds.push_back({});
    const auto channels = static_cast<std::size_t>(in_.plan.channels);
    found->of.resize(channels * static_cast<std::size_t>(found->dimensions));
    std::vector<Crossed> crossed(channels);
    for (int place = 0; place < found->dimensions; ++place) {
      in_parallel(channels, in_.threads,
                  [&](std::size_t c) { crossed[c] = cross(static_cast<std::uint32_t>(c), place); });
      for (const Crossed& c : crossed) {
        // All are on their links before the first one looks at its crowd. They are added in the order of channels, not
        // of threads, as parts are rounded. A connection uses its queue pairs in turn, so it counts on each for a part.
        for (const Crossed::Link& l : c.links) messages_[l.resource] += l.weight / static_cast<float>(pairs_);
        for (const PatCrowds::Trips& t : c.trips) all_.took(t.latency, t.first, t.messages);
      }
      for (std::size_t c = 0; c < channels; ++c)
        if (!crossed[c].links.empty())
          found->of[c * static_cast<std::size_t>(found->dimensions) + static_cast<std::size_t>(place)] =
              number(crossed, c, *found);
      // Only what was crossed: an array over all links is not cleared for each dimension.
      for (const Crossed& c : crossed)
        for (const Crossed::Link& l : c.links) messages_[l.resource] = 0;
    }
    found->trips = std::move(all_.trips);
    // In a Clos without faults the ports are all alike, and one stands for them.
    found->port = 2 * endpoint(0);
    if (!in_.segment.links.all_nominal() || !in_.fabric.clos()) add_ports(*found);
    return found;
  }

 private:
  /// All of a large fabric's links, which a group of some nodes would else clear again and again. Who counts there leaves 0.
  static std::vector<float>& zeros(std::size_t resources) {
    thread_local std::vector<float> kept;
    if (kept.size() < resources) kept.resize(resources, 0);
    return kept;
  }
  /// B/s. Links of one class are alike where none has a fault.
  double rate(std::uint32_t resource) {
    if (rate_of_class_.empty() || resource >= in_.fabric.links())
      return rate_of(in_.fabric, in_.router, in_.segment, resource);
    double& rate = rate_of_class_[in_.fabric.class_index(LinkId(resource))];
    if (rate == 0) rate = rate_of(in_.fabric, in_.router, in_.segment, resource);
    return rate;
  }
  bool gathers() const { return in_.plan.op == CollectiveOp::all_gather; }
  // An all_gather begins with the far dimension, a reduce_scatter with the near one (docs/models/pat.md).
  int dimension(int place) const { return gathers() ? pat_dimensions(ranks_) - 1 - place : place; }
  std::uint32_t endpoint(std::int64_t rank) const {
    return in_.comm.endpoint(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(in_.comm.nic_of_gpu.front()),
                             in_.fabric.ports_per_node());
  }

  Crossed cross(std::uint32_t channel, int place) const {
    Crossed crossed;
    const int d = dimension(place);
    const std::int64_t reach = std::int64_t{1} << d;
    Path path;
    for (std::int64_t sender = 0; sender < ranks_; ++sender) {
      // Connections are numbered by the rank that is nearer to the root.
      const std::int64_t receiver = gathers() ? (sender + reach) % ranks_ : (sender + ranks_ - reach % ranks_) % ranks_;
      const std::int64_t number = d * ranks_ + (gathers() ? sender : receiver);
      const std::uint32_t from = endpoint(sender), to = endpoint(receiver);
      const bool direct = in_.router.direct(from, to);
      for (std::uint32_t q = 0; q < pairs_; ++q) {
        const Flow flow = flow_between(in_.comm, from, to, channel, static_cast<std::uint32_t>(number % 2), q);
        // It shares no link between switches, so that it exists is all there is to note.
        if (direct) {
          crossed.direct = flow, ++crossed.directs;
        } else if (in_.router.route(flow, path)) {
          for (std::size_t i = 1; i + 1 < path.resources.size(); ++i)
            crossed.links.push_back({path.resources[i], static_cast<float>(path.weight(i))});
          crossed.took(path.latency.value, flow);
        }
        // One list with marks, not a list for each of ranks times queue pairs.
        crossed.ends.push_back(static_cast<std::uint32_t>(crossed.links.size()));
      }
    }
    if (crossed.direct && in_.router.route(*crossed.direct, path))
      crossed.took(path.latency.value, *crossed.direct, crossed.directs);
    return crossed;
  }

  std::vector<std::uint16_t> number(const std::vector<Crossed>& channels, std::size_t channel, PatCrowds& found) {
    const Crossed& crossed = channels[channel];
    std::vector<std::uint16_t> numbers;
    numbers.reserve(static_cast<std::size_t>(ranks_));
    for (std::int64_t sender = 0; sender < ranks_; ++sender) {
      double messages = 0;
      Worst longest;
      for (std::uint32_t q = 0; q < pairs_; ++q) {
        const Worst worst = worst_of(crossed, static_cast<std::size_t>(sender) * pairs_ + q);
        // The kind of link is that of the slowest queue pair, the messages are the mean over all.
        if (worst.seconds > longest.seconds) longest = worst;
        messages += worst.messages / pairs_;
      }
      numbers.push_back(messages > 0 ? number_of(messages, longest.resource,
                                                 same_path(channels, static_cast<std::size_t>(sender) * pairs_), found)
                                     : std::uint16_t{0});
    }
    return numbers;
  }

  /// Whether a sender's first queue pairs of all channels take one path: its NIC sends such messages one after the
  /// other, so they are not on the link at once.
  bool same_path(const std::vector<Crossed>& channels, std::size_t path) const {
    const auto links = [&](const Crossed& c) {
      const std::size_t begin = path > 0 ? c.ends[path - 1] : 0;
      return std::span(c.links).subspan(begin, c.ends[path] - begin);
    };
    const auto first = links(channels.front());
    return std::all_of(channels.begin() + 1, channels.end(), [&](const Crossed& c) {
      const auto other = links(c);
      return std::equal(first.begin(), first.end(), other.begin(), other.end(),
                        [](const auto& a, const auto& b) { return a.resource == b.resource; });
    });
  }

  struct Worst {
    double seconds = 0;  ///< per byte, but for a constant: to compare links of several rates
    double messages = 0;
    std::uint32_t resource = 0;
  };
  /// The most crowded link of a queue pair's path.
  Worst worst_of(const Crossed& crossed, std::size_t path) {
    Worst worst;
    for (std::uint32_t i = path > 0 ? crossed.ends[path - 1] : 0; i < crossed.ends[path]; ++i) {
      const Crossed::Link& link = crossed.links[i];
      // The message is there as a whole, unless it is split.
      const double rest = in_.comm.split_data_on_qps ? 0 : (1 - 1.0 / pairs_) * link.weight;
      const double all = messages_[link.resource] + rest;
      const double seconds = all / rate(link.resource);
      if (seconds > worst.seconds) worst = {seconds, all, link.resource};
    }
    return worst;
  }

  /// Crowds that differ by less than a percent are one, so that there are few: the number of one is kept for every
  /// rank, channel and dimension, and has 16 bits. Seven bits of the mantissa are left: a crowd is off by 1/128 at
  /// most.
  std::uint16_t number_of(double messages, std::uint32_t resource, bool in_turn, PatCrowds& found) {
    int exponent = 0;
    const double rounded = std::round(std::frexp(messages, &exponent) * 128) / 128;
    messages = std::ldexp(rounded, exponent);
    const std::uint64_t kind = kind_of(in_, resource, false);
    Recent& recent = recent_[(std::bit_cast<std::uint64_t>(messages) >> 44 ^ kind ^ in_turn) % recent_.size()];
    if (recent.messages == messages && recent.kind == kind && recent.in_turn == in_turn) return recent.number;
    const auto [it, fresh] =
        numbers_.emplace(std::tuple(kind, messages, in_turn), static_cast<std::uint16_t>(found.crowds.size()));
    if (fresh) found.crowds.push_back({messages, resource, in_turn});
    FABRICAST_CHECK(found.crowds.size() < 0x10000, "more kinds of links than a fabric has");
    recent = {messages, kind, in_turn, it->second};
    return it->second;
  }

  /// Ports that differ: each rank's, by one of its connections.
  void add_ports(PatCrowds& found) const {
    Path path;
    found.out.resize(static_cast<std::size_t>(ranks_)), found.in = found.out;
    for (std::int64_t r = 0; r < ranks_; ++r) {
      const std::int64_t next = (r + 1) % ranks_;
      if (!in_.router.route(flow_between(in_.comm, endpoint(r), endpoint(next), 0, 0, 0), path)) continue;
      found.out[static_cast<std::size_t>(r)] = path.resources.front();
      found.in[static_cast<std::size_t>(next)] = path.resources.back();
    }
  }

  const FabricCount::Input& in_;
  std::int64_t ranks_;
  std::uint32_t pairs_;
  std::vector<float>& messages_;       ///< by resource, of the dimension
  std::vector<double> rate_of_class_;  ///< 0: not known yet; empty where links of a class may differ
  struct Recent {
    double messages = 0;
    std::uint64_t kind = 0;
    bool in_turn = false;
    std::uint16_t number = 0;
  };
  std::array<Recent, 256> recent_{};  ///< numbers that have been asked for, so that few are looked up
  Crossed all_;                       ///< its trips are those of all messages
  std::map<std::tuple<std::uint64_t, double, bool>, std::uint16_t> numbers_;
};

}  // namespace

std::shared_ptr<const PatCrowds> pat_crowds(const FabricCount::Input& input) { return Counter(input)(); }

}  // namespace fabricast
