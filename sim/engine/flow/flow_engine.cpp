// The flow engine: channels share links as fluids, and a timed event graph gives the time of each channel.
//
// A run is a short loop of events:
//
//   open = all channels; progress(c) = 0; segment = the network at time 0
//   while some channel is open:
//     loads   = connections of each channel on each link, folded into groups                  (loads.hpp)
//     r(c)    = max-min shares of the open channels                                            (sharing.hpp)
//     T(c)    = makespan of channel c alone at its share                                       (channel_time.hpp)
//     dt      = minimum over c of (1 - progress(c)) T(c), but not past the next change of the network
//     progress(c) += dt / T(c);  close the channels that reach 1
//
// When a channel ends, the others take over its share. A fault affects the rest of the run. Channels of one class
// differ only in the contention on their links. When a segment begins, the slowest channel s of each class is timed
// slice by slice (pipeline.hpp, ring_recurrence.hpp). The times of the others, and of all channels after one has ended,
// follow from the pace of their n slices of b bytes, for each of which GPUs and proxy threads need at least g:
//
//   T(c) = T(s) + n max( g, b / r(c) ) - n max( g, b / r(s) )                                                       (1)
//
// Times are in s, r in B/s.
//
// Not modelled: queues and congestion control (shares are fair at once), packets, retransmission, and jitter of hosts.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "../count/contended_flows.hpp"
#include "../count/count_store.hpp"
#include "../count/network_counter.hpp"
#include "../count/router_under_load.hpp"
#include "../time/channel_time.hpp"
#include "../time/peer_time.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/engine/group_time.hpp"

namespace fabricast {

namespace {

class FlowEngine final : public NetworkEngine {
 public:
  /// \param known  the router of the first segment, or null
  FlowEngine(const NetworkSetup& setup, std::uint64_t seed, const Router* known = nullptr)
      : setup_(setup), seed_(seed), known_(known), routers_(setup.segments.size() + 1), paths_(*setup.comm) {}

  CollectiveResult run(const Plan& asked) override {
    const Communicator& comm = *setup_.comm;
    const ProtocolCosts costs = protocol_costs(comm, asked);
    const Plan plan = plan_of_streams(asked);
    const auto channels = static_cast<std::size_t>(plan.channels);
    const std::vector<Stream> streams = streams_of(plan);
    std::vector<double> caps(channels);
    std::vector<bool> open(channels, true);
    std::vector<double> progress(channels, 0);
    CollectiveResult result;
    result.launch = costs.launch;

    std::size_t segment = 0, timed = no_segment;
    double now = 0;
    std::optional<ChannelSharing> sharing;
    std::vector<ChannelTime> reference(channels);
    std::vector<double> makespan(channels);
    const Loads* current = nullptr;
    for (std::size_t left = channels; left > 0;) {
      if (timed != segment) current = &loads_of_call(plan, streams, costs, segment);
      const Loads& loads = *current;
      if (timed != segment) {
        for (std::size_t c = 0; c < channels; ++c) caps[c] = loads.blocked[c] ? 0 : costs.steady_rate(plan).value;
        sharing.emplace(loads.groups, caps, costs.wire);
      }
      const ChannelShares shares = sharing->share(open);
      if (timed != segment) {
        timed = segment;
        time_classes(plan, streams, costs, loads, open, shares, reference);
        // Reports and steps describe the network as it is when the collective starts.
        if (now == 0) {
          describe(plan, streams, costs, loads, shares, reference, result);
          if (record_) record(plan, loads, costs, caps, shares, reference);
        }
        for (const Fault& fault : setup_.segments[segment].faults)
          // A fault of a clock leaves links at their rate.
          if (fault.rate < 1 && affects(fault, plan, loads) &&
              std::find(result.affected_by.begin(), result.affected_by.end(), fault.target) == result.affected_by.end())
            result.affected_by.push_back(fault.target);
      }

      double next = infinity;
      for (std::size_t c = 0; c < channels; ++c) {
        if (!open[c]) continue;
        makespan[c] = reference[c].makespan_at(shares.rate[c]);
        next = std::min(next, now + (1 - progress[c]) * makespan[c]);
      }
      const double change = segment + 1 < setup_.segments.size() ? setup_.segments[segment + 1].begin.value : infinity;
      // A channel whose link is down may wait until a fault ends. If no change is pending, it would wait forever.
      if (next == infinity && change == infinity) stalled(loads, shares, open, segment);
      const double until = std::min(next, change);
      for (std::size_t c = 0; c < channels; ++c) {
        if (!open[c]) continue;
        progress[c] += (until - now) / makespan[c];
        // Channels that end together do so up to rounding. Without a tolerance each would be an event of its own.
        if (progress[c] < 1 - 1e-12) continue;
        open[c] = false;
        --left;
      }
      now = until;
      // Equal fingerprints show that runs on different machines or numbers of threads had the same events.
      result.fingerprint = fold(result.fingerprint, std::bit_cast<std::uint64_t>(now));
      if (change <= now) ++segment;
    }
    result.makespan = Seconds{now};
    // Latency and transfer are those of the slowest channel at its initial share; fill is the rest of the makespan.
    result.latency = std::min(result.latency, result.makespan);
    result.transfer = std::min(result.transfer, result.makespan - result.latency);
    result.fill = result.makespan - result.latency - result.transfer;
    return result;
  }

  GroupTime time(const Plan& plan) {
    GroupTime group;
    record_ = &group;
    group.result = run(plan);
    return group;
  }

 private:
  /// Connections per message that a channel counts. In sends and receives each pair has its own connection. In other
  /// collectives a connection may carry several messages.
  double connections_per_message(const Plan& plan) const {
    const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
    double connections = 0, messages = 0;
    // The ratio is the same for all channels.
    if (algorithm.network_edges && setup_.comm->nodes() > 1 && !is_point_to_point(plan.op))
      algorithm.network_edges(*setup_.comm, plan, 0,
                              [&](const NetworkEdge& edge) { connections += 1, messages += edge.weight; });
    return messages > 0 ? connections / messages : 1;
  }

  /// Stores the channels, and their use of links, as timed at the start.
  void record(const Plan& plan, const Loads& loads, const ProtocolCosts& costs, const std::vector<double>& caps,
              const ChannelShares& shares, const std::vector<ChannelTime>& reference) {
    const auto slices = [](const Pace& pace) {
      return ChannelPace::Slices{static_cast<std::int64_t>(pace.count), Seconds{pace.least},
                                 Bytes{static_cast<std::int64_t>(pace.payload)}};
    };
    for (std::size_t c = 0; c < reference.size(); ++c) {
      const ChannelTime& t = reference[c];
      record_->channels.push_back({Seconds{t.makespan_at(shares.rate[c])}, BytesPerSecond{shares.rate[c]},
                                   BytesPerSecond{caps[c]}, slices(t.whole), slices(t.tail)});
      record_->longest = std::max(record_->longest, record_->channels.back().makespan);
      if (!is_point_to_point(plan.op)) continue;
      // The pace is that of one message of a pair, which may also wait for threads and slots: a smaller share matters
      // only once the transfer takes longer than these.
      const std::vector<double> alone{1};
      const double latency = peer_latency({*setup_.comm, plan, costs, loads, alone, 0, shares.rate[c], true});
      record_->channels.back().whole = {1, Seconds{t.makespan - latency}, Bytes{plan.pair}};
    }
    if (loads.network) record_->crossed = loads.network->counted();
    record_->weight = connections_per_message(plan) / costs.wire;
    for (const LinkGroup& g : loads.groups) {
      if (!g.inside) continue;
      InsideUse inside{g.node, static_cast<std::uint16_t>(g.resource), g.connections};
      for (double& use : inside.use) use *= costs.wire / g.capacity;
      record_->inside.push_back(std::move(inside));
    }
  }

  /// One more segment after the last, without faults, to compare with.
  std::size_t healthy() const { return setup_.segments.size(); }
  const NetworkSegment& segment_at(std::size_t i) const { return i == healthy() ? no_faults_ : setup_.segments[i]; }

  const Router* router(std::size_t segment) {
    if (!setup_.fabric || setup_.comm->nodes() == 1) return nullptr;
    if (segment == 0 && known_) return known_;
    if (!routers_[segment])
      routers_[segment] = setup_.policy->make(*setup_.policy_spec, *setup_.fabric, segment_at(segment).links, seed_);
    return routers_[segment].get();
  }

  /// The router of a plan's traffic.
  const Router* router_of(const Plan& plan, std::size_t segment) {
    const Router* router = this->router(segment);
    if (!router) return nullptr;
    std::unique_ptr<Router> own = router_under_load(*setup_.comm, plan, *setup_.fabric, *router, segment_at(segment));
    if (!own) return router;
    return under_load_.emplace_back(std::move(own)).get();
  }

  /// Whether a fault affects the collective: it has connections over a faulty link, now or on the network without
  /// faults.
  bool affects(const Fault& fault, const Plan& plan, const Loads& loads) {
    const Communicator& comm = *setup_.comm;
    const auto inside = [&](const Fault::Inside& i) {
      return std::any_of(loads.groups.begin(), loads.groups.end(), [&](const LinkGroup& g) {
        return g.inside && g.resource == i.link && comm.has_host(g.node, i.node);
      });
    };
    if (std::any_of(fault.inside.begin(), fault.inside.end(), inside)) return true;
    // If routing has moved all connections away from the link, the fault affects the collective as well.
    if (fault.links.empty() || comm.nodes() == 1) return false;
    const Loads& whole = loads_of(plan, healthy());
    return std::any_of(fault.links.begin(), fault.links.end(),
                       [&](LinkId link) { return loads.uses(link) || whole.uses(link); });
  }

  /// Loads depend on the algorithm or kernel and on the channels, but not on the bytes, so plans of other sizes share
  /// them.
  const Loads& loads_of(const Plan& plan, std::size_t segment) {
    // Kernels for symmetric memory have connections of their own, different from those of the algorithm.
    const int kernel = plan.kernels.empty() ? -1 : static_cast<int>(plan.kernels.front().kernel);
    const auto key =
        std::tuple(plan.op, plan.one_way, plan.algorithm, kernel, plan.channels, edge_key_of(plan), segment);
    const auto it = loads_.find(key);
    if (it != loads_.end()) return it->second;
    const Router* of_plan = router_of(plan, segment);
    Loads loads = count_loads(*setup_.comm, plan, setup_.fabric, of_plan, segment_at(segment), paths_,
                              stored_count(plan, segment, of_plan), setup_.threads);
    return loads_.emplace(key, std::move(loads)).first->second;
  }

  /// The same with DCQCN, where contended links carry what the bytes of the call let its flows reach.
  const Loads& loads_of_call(const Plan& plan, const std::vector<Stream>& streams, const ProtocolCosts& costs,
                             std::size_t segment) {
    const Loads& loads = loads_of(plan, segment);
    if (!setup_.dcqcn || !loads.network) return loads;
    const Router& router = *router_of(plan, segment);
    std::unique_ptr<ContendedFlows>& flows = contended_[&loads];
    if (!flows)
      flows = std::make_unique<ContendedFlows>(
          FabricCount::Input{*setup_.comm, plan, *setup_.fabric, router, segment_at(segment), 1, setup_.threads},
          loads.network->counted()->count());
    if (flows->empty()) return loads;
    std::vector<double> payload;
    for (const Stream& stream : streams)
      payload.push_back(is_point_to_point(plan.op) ? static_cast<double>(plan.pair) : payload_of(stream));
    slowed_ = std::make_unique<Slowed>(Slowed{segment_at(segment), {}});
    const auto find = [&] { return flows->efficiency(payload, costs.wire, *setup_.dcqcn, seed_); };
    std::uint64_t key = fold(seed_, segment);
    for (const std::uint64_t part : {static_cast<std::uint64_t>(plan.op), static_cast<std::uint64_t>(plan.algorithm),
                                     static_cast<std::uint64_t>(plan.one_way), edge_key_of(plan)})
      key = fold(key, part);
    for (const double bytes : payload) key = fold(key, std::bit_cast<std::uint64_t>(bytes * costs.wire));
    slowed_->segment.contended *= setup_.counts ? setup_.counts->efficiency(key, find) : find();
    slowed_->loads = count_loads(*setup_.comm, plan, setup_.fabric, &router, slowed_->segment, paths_,
                                 loads.network->counted(), setup_.threads);
    return slowed_->loads;
  }

  /// The count that engines share, for a network without faults; null otherwise.
  std::shared_ptr<SharedCount> stored_count(const Plan& plan, std::size_t segment, const Router* router) {
    const NetworkSegment& s = segment_at(segment);
    if (!setup_.counts || setup_.comm->nodes() == 1 || !s.links.all_nominal() || !s.faults.empty()) return nullptr;
    return setup_.counts->of({*setup_.comm, plan, *setup_.fabric, *router, s,
                              protocol_costs(*setup_.comm, plan).tree_weight, setup_.threads},
                             seed_);
  }

  /// Times the slowest open channel of every class; the others refer to it. It is the one with the smallest share, or
  /// the one with the slowest path.
  void time_classes(const Plan& plan, const std::vector<Stream>& streams, const ProtocolCosts& costs,
                    const Loads& loads, const std::vector<bool>& open, const ChannelShares& shares,
                    std::vector<ChannelTime>& reference) const {
    const std::vector<double> slice = slices(streams, open);
    std::vector<double> contention(loads.groups.size(), 0);
    for (std::size_t g = 0; g < contention.size(); ++g)
      if (loads.groups[g].inside) contention[g] = contended_seconds(loads.groups[g], slice, costs.wire);
    std::vector<std::size_t> slowest;  // of each class
    std::vector<std::size_t> class_of(open.size());
    for (std::size_t c = 0; c < open.size(); ++c) {
      if (!open[c]) continue;
      std::size_t k = 0;
      while (k < slowest.size() && !alike(plan, streams, loads, shares, contention, slowest[k], c)) ++k;
      class_of[c] = k;
      // Of two channels that are otherwise alike, the one with the smaller share is slower.
      if (k == slowest.size()) slowest.push_back(c);
      if (shares.rate[c] < shares.rate[slowest[k]]) slowest[k] = c;
    }
    const auto time_of = [&](std::size_t c) {
      const std::vector<double> use = relative_to(slice, c);
      return time_channel(
          {*setup_.comm, plan, costs, loads, use, static_cast<int>(c), shares.rate[c], shares.group[c] != no_group});
    };
    std::vector<std::size_t> longest = slowest;
    // The first slice crosses the links of its path one after the other, so the slowest path may matter more than the
    // smallest share. Both candidates are timed. A single channel needs no comparison, and for sends and receives the
    // search would list a connection for each pair of ranks.
    const std::vector<double> slowness =
        loads.network && open.size() > 1 ? loads.network->slowest_on_paths() : std::vector<double>();
    for (std::size_t c = 0; c < slowness.size(); ++c)
      if (open[c] && slowness[c] > slowness[longest[class_of[c]]] * (1 + 1e-9)) longest[class_of[c]] = c;
    std::vector<ChannelTime> times;
    for (std::size_t k = 0; k < slowest.size(); ++k) {
      const std::size_t s = slowest[k], l = longest[k];
      times.push_back(time_of(s));
      if (s == l) continue;
      const ChannelTime other = time_of(l);
      if (other.makespan_at(shares.rate[l]) > times[k].makespan_at(shares.rate[s])) times[k] = other;
    }
    for (std::size_t c = 0; c < open.size(); ++c)
      if (open[c]) reference[c] = times[class_of[c]];
  }

  /// The streams of all channels.
  std::vector<Stream> streams_of(const Plan& plan) const {
    const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
    std::vector<Stream> streams;
    for (int c = 0; c < plan.channels; ++c) streams.push_back(algorithm.stream(*setup_.comm, plan, c));
    return streams;
  }

  /// Payload of a slice by channel, in bytes; 0 for channels that are done.
  static std::vector<double> slices(const std::vector<Stream>& streams, const std::vector<bool>& open) {
    std::vector<double> bytes(open.size(), 0);
    for (std::size_t c = 0; c < open.size(); ++c)
      if (open[c]) bytes[c] = static_cast<double>(streams[c].loops > 0 ? streams[c].slice : streams[c].tail_slice);
    return bytes;
  }
  /// Sizes of slices as fractions of that of one channel, at most 1.
  static std::vector<double> relative_to(std::vector<double> slice, std::size_t channel) {
    const double own = slice[channel];
    for (double& bytes : slice) bytes = own > 0 ? std::min(1.0, bytes / own) : 0;
    return slice;
  }

  /// Whether two channels belong to the same class.
  bool alike(const Plan& plan, const std::vector<Stream>& streams, const Loads& loads, const ChannelShares& shares,
             const std::vector<double>& contention, std::size_t a, std::size_t b) const {
    const auto equally_contended = [&](std::uint32_t g, std::uint32_t h) {
      return g == h || (g != no_group && h != no_group && contention[g] == contention[h]);
    };
    // Times depend on the contention on links, not on which links they are.
    const auto& g = loads.inside[a].group;
    const auto& h = loads.inside[b].group;
    const auto timed_apart = find_by_algorithm(plan.algorithm)->timed_apart;
    const auto kind = [&](std::size_t c) { return timed_apart(*setup_.comm, static_cast<int>(c)); };
    return plan.shares[a] == plan.shares[b] && (shares.rate[a] > 0) == (shares.rate[b] > 0) &&
           (shares.group[a] == no_group) == (shares.group[b] == no_group) &&
           std::equal(g.begin(), g.end(), h.begin(), h.end(), equally_contended) &&
           (!timed_apart || kind(a) == kind(b)) &&
           streams[a].start == streams[b].start;  // chains differ in where they enter their nodes
  }

  /// Describes the slowest channel at the start: its bottleneck, and the split of its time.
  void describe(const Plan& plan, const std::vector<Stream>& streams, const ProtocolCosts& costs, const Loads& loads,
                const ChannelShares& shares, const std::vector<ChannelTime>& reference, CollectiveResult& result) {
    std::size_t slowest = 0;
    double longest = 0;
    for (std::size_t c = 0; c < reference.size(); ++c) {
      const double makespan = reference[c].makespan_at(shares.rate[c]);
      if (makespan > longest) {
        slowest = c;
        longest = makespan;
      }
      result.work = std::max(result.work, Seconds{reference[c].work});
    }
    if (setup_.times_only) return;
    ChannelTime t = reference[slowest];
    const std::uint32_t g = shares.group[slowest];
    const std::vector<double> use = relative_to(slices(streams, std::vector<bool>(reference.size(), true)), slowest);
    split_time({*setup_.comm, plan, costs, loads, use, static_cast<int>(slowest), shares.rate[slowest], g != no_group},
               t);
    result.latency = Seconds{t.latency};
    result.transfer = Seconds{t.transfer};

    Bottleneck& b = result.bottleneck;
    b.rate = BytesPerSecond{shares.rate[slowest]};
    // The most specific cause comes first: a link that is down explains everything, and if latency dominates no link
    // does.
    if (b.rate.value <= 0) {
      b.name = "link down";
    } else if (t.latency > t.transfer && !(t.by_proxy && is_point_to_point(plan.op))) {
      b.name = "latency";
      b.rate = {};
    } else if (t.by_proxy) {
      b.name = "proxy thread";
    } else if (g == no_group || t.by_kernel) {
      b.name = "gpu copy";
      if (t.by_kernel) b.rate = {};
    } else {
      const LinkGroup& group = loads.groups[g];
      b.name = group_name(group, *setup_.comm, setup_.fabric, router(0));
      b.capacity = BytesPerSecond{group.capacity};
      b.alike = group.members;
      for (int c = 0; c < plan.channels; ++c)
        if (group.connections[static_cast<std::size_t>(c)] > 0)
          b.sharers.push_back({c, group.connections[static_cast<std::size_t>(c)]});
    }
  }

  [[noreturn]] void stalled(const Loads& loads, const ChannelShares& shares, const std::vector<bool>& open,
                            std::size_t segment) {
    for (std::size_t c = 0; c < open.size(); ++c)
      if (open[c] && shares.rate[c] <= 0)
        throw UserError::at(
            "faults",
            fmt::format("the collective never completes: {} is down",
                        group_name(loads.groups[shares.group[c]], *setup_.comm, setup_.fabric, router(segment))),
            "set `until` of the fault, or a rate above 0");
    FABRICAST_CHECK(false, "no channel progresses, but no link is down");
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t no_segment = static_cast<std::size_t>(-1);
  const NetworkSetup& setup_;
  std::uint64_t seed_;
  const Router* known_;
  std::vector<std::unique_ptr<Router>> routers_;     ///< by segment
  std::vector<std::unique_ptr<Router>> under_load_;  ///< of plans
  InsidePaths paths_;
  std::map<std::tuple<CollectiveOp, bool, Algorithm, int, int, std::uint64_t, std::size_t>, Loads> loads_;
  /// Loads that hold for one call.
  struct Slowed {
    NetworkSegment segment;
    Loads loads;
  };
  std::map<const Loads*, std::unique_ptr<ContendedFlows>> contended_;
  std::unique_ptr<Slowed> slowed_;
  const NetworkSegment no_faults_;
  GroupTime* record_ = nullptr;  ///< receives the channels of the run; null: nobody needs them
};

}  // namespace

std::unique_ptr<NetworkEngine> make_flow_engine(const NetworkSetup& setup, std::uint64_t seed) {
  return std::make_unique<FlowEngine>(setup, seed);
}

GroupTime time_group(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed, const Router* router) {
  return FlowEngine(setup, seed, router).time(plan);
}

}  // namespace fabricast
