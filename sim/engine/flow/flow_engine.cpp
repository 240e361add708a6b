// The flow engine: fluid shares of links between channels, and a timed event graph per channel.
//
// One run is a short loop of events:
//
//   open = all channels; progress(c) = 0; segment = the network at time 0
//   while some channel is open:
//     loads   = connections of each channel on each link, folded into groups          (loads.hpp)
//     rate(c) = max-min shares of the open channels                                    (sharing.hpp)
//     T(c)    = makespan of channel c alone at these shares                            (stations.hpp, timing.hpp)
//     dt      = least over c of (1 - progress(c)) T(c), but not past the next fault
//     progress(c) += dt / T(c);  close the channels that reach 1
//
// So a channel that ends gives its share to the others, and a fault changes what is left. Not modelled: the queues and
// reactions of congestion control (shares are fair at once), packets, retransmission, and jitter of hosts.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/engine/engine.hpp"
#include "channel_time.hpp"

namespace fabricast {

namespace {

class FlowEngine final : public NetworkEngine {
 public:
  FlowEngine(const NetworkSetup& setup, std::uint64_t seed)
      : setup_(setup), seed_(seed), routers_(setup.segments.size()) {}

  CollectiveResult run(const Plan& plan) override {
    const Communicator& comm = *setup_.comm;
    const ProtocolCosts costs = protocol_costs(comm, plan);
    const auto channels = static_cast<std::size_t>(plan.channels);
    const std::vector<double> caps(channels, costs.copy_rate);
    std::vector<bool> open(channels, true);
    std::vector<double> progress(channels, 0);
    CollectiveResult result;
    result.launch = costs.launch;
    result.channel_ends.assign(channels, 0);

    std::size_t segment = 0;
    double now = 0;
    std::vector<ChannelTime> times(channels);
    for (std::size_t left = channels; left > 0;) {
      const Loads& loads = loads_of(plan, segment);
      const ChannelShares shares = share_channels(loads.groups, caps, open, costs.wire);
      time_open(plan, costs, loads, open, shares, times);
      if (now == 0) describe(plan, costs, loads, shares, times, segment, result);
      for (const std::string& fault : setup_.segments[segment].faults)
        if (std::find(result.felt.begin(), result.felt.end(), fault) == result.felt.end()) result.felt.push_back(fault);

      double next = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < channels; ++c)
        if (open[c]) next = std::min(next, now + (1 - progress[c]) * times[c].makespan);
      const double change = segment + 1 < setup_.segments.size() ? setup_.segments[segment + 1].begin
                                                                 : std::numeric_limits<double>::infinity();
      if (next == std::numeric_limits<double>::infinity() && change == next) stalled(loads, shares, open, segment);
      const double until = std::min(next, change);
      for (std::size_t c = 0; c < channels; ++c) {
        if (!open[c]) continue;
        progress[c] += (until - now) / times[c].makespan;
        if (progress[c] < 1 - 1e-12) continue;
        open[c] = false;
        result.channel_ends[c] = until;
        --left;
      }
      now = until;
      result.fingerprint = fold(result.fingerprint, std::bit_cast<std::uint64_t>(now));
      if (change <= now) ++segment;
    }
    result.makespan = now;
    split_time(result, times);
    return result;
  }

 private:
  const Router* router(std::size_t segment) {
    if (!setup_.fabric || setup_.comm->nodes() == 1) return nullptr;
    if (!routers_[segment])
      routers_[segment] =
          setup_.policy->make(*setup_.policy_spec, *setup_.fabric, setup_.segments[segment].links, seed_);
    return routers_[segment].get();
  }

  /// Loads depend on the algorithm and the channels, not on the bytes: plans of other sizes find them here.
  const Loads& loads_of(const Plan& plan, std::size_t segment) {
    const auto key = std::tuple(plan.algorithm, plan.channels, segment);
    const auto it = loads_.find(key);
    if (it != loads_.end()) return it->second;
    return loads_
        .emplace(key, count_loads(*setup_.comm, plan, setup_.fabric, router(segment), setup_.segments[segment]))
        .first->second;
  }

  void time_open(const Plan& plan, const ProtocolCosts& costs, const Loads& loads, const std::vector<bool>& open,
                 const ChannelShares& shares, std::vector<ChannelTime>& times) {
    // Channels in the same position, with the same share of bytes and links, take the same time.
    std::vector<double> crowd(loads.groups.size(), 0);
    std::vector<double> slice(open.size(), 0), use(open.size());
    for (std::size_t c = 0; c < open.size(); ++c)
      if (open[c]) slice[c] = slice_of(plan, c);
    for (std::size_t g = 0; g < crowd.size(); ++g) crowd[g] = crowded_seconds(loads.groups[g], slice, costs.wire);
    std::vector<std::size_t> done;
    for (std::size_t c = 0; c < open.size(); ++c) {
      if (!open[c]) continue;
      const auto twin = std::find_if(done.begin(), done.end(), [&](std::size_t d) {
        return plan.shares[c] == plan.shares[d] && shares.rate[c] == shares.rate[d] &&
               (shares.group[c] == no_group) == (shares.group[d] == no_group) && same_view(loads, crowd, c, d) &&
               (plan.algorithm != Algorithm::tree || loads.edges[c].uniform ||
                setup_.comm->tree_index(static_cast<int>(c)) == setup_.comm->tree_index(static_cast<int>(d)));
      });
      if (twin != done.end()) {
        times[c] = times[*twin];
        continue;
      }
      for (std::size_t d = 0; d < use.size(); ++d) use[d] = slice[c] > 0 ? std::min(1.0, slice[d] / slice[c]) : 0;
      times[c] = time_channel(
          {*setup_.comm, plan, costs, loads, use, static_cast<int>(c), shares.rate[c], shares.group[c] != no_group});
      done.push_back(c);
    }
  }

  double slice_of(const Plan& plan, std::size_t channel) const {
    const Stream s = find_by_algorithm(plan.algorithm)->stream(*setup_.comm, plan, static_cast<int>(channel));
    return static_cast<double>(s.loops > 0 ? s.slice : s.tail_slice);
  }

  /// Whether two channels see equally crowded links in the same order.
  static bool same_view(const Loads& loads, const std::vector<double>& crowd, std::size_t a, std::size_t b) {
    const auto alike = [&](std::uint32_t g, std::uint32_t h) {
      return g == h || (g != no_group && h != no_group && crowd[g] == crowd[h]);
    };
    const auto same = [&](const std::vector<std::uint32_t>& g, const std::vector<std::uint32_t>& h) {
      return g.size() == h.size() && std::equal(g.begin(), g.end(), h.begin(), alike);
    };
    return same(loads.inside[a].group, loads.inside[b].group) && same(loads.edges[a].group, loads.edges[b].group) &&
           loads.edges[a].latency == loads.edges[b].latency;
  }

  /// The slowest channel at the start, and what holds it.
  void describe(const Plan& plan, const ProtocolCosts&, const Loads& loads, const ChannelShares& shares,
                const std::vector<ChannelTime>& times, std::size_t segment, CollectiveResult& result) {
    result.channel_rates = shares.rate;
    std::size_t slowest = 0;
    for (std::size_t c = 1; c < times.size(); ++c)
      if (times[c].makespan > times[slowest].makespan) slowest = c;
    const ChannelTime& t = times[slowest];
    Bottleneck& b = result.bottleneck;
    b.rate = shares.rate[slowest];
    const std::uint32_t g = shares.group[slowest];
    if (t.latency > t.makespan / 2) {
      b.name = "latency", b.rate = 0;
    } else if (t.by_proxy) {
      b.name = "proxy thread";
    } else if (g == no_group) {
      b.name = "gpu copy";
    } else {
      const LinkGroup& group = loads.groups[g];
      b.name = group_name(group, *setup_.comm, setup_.fabric, router(segment));
      b.capacity = group.capacity, b.alike = group.members;
      for (int c = 0; c < plan.channels; ++c)
        if (group.connections[static_cast<std::size_t>(c)] > 0)
          b.sharers.push_back({c, group.connections[static_cast<std::size_t>(c)]});
    }
    result.work = 0;
    for (const ChannelTime& each : times) result.work = std::max(result.work, each.work);
    result.latency = t.latency, result.transfer = t.transfer;
  }

  /// The parts of the slowest channel at its first shares, stretched to the whole.
  static void split_time(CollectiveResult& result, const std::vector<ChannelTime>&) {
    result.latency = std::min(result.latency, result.makespan);
    result.transfer = std::min(result.transfer, result.makespan - result.latency);
    result.fill = result.makespan - result.latency - result.transfer;
  }

  [[noreturn]] void stalled(const Loads& loads, const ChannelShares& shares, const std::vector<bool>& open,
                            std::size_t segment) {
    for (std::size_t c = 0; c < open.size(); ++c)
      if (open[c] && shares.rate[c] <= 0)
        throw UserError::at(
            "faults",
            fmt::format("the collective never ends: {} is down",
                        group_name(loads.groups[shares.group[c]], *setup_.comm, setup_.fabric, router(segment))),
            "give the fault an `until`, or a rate above 0");
    FABRICAST_CHECK(false, "nothing moves, and no link is down");
  }

  const NetworkSetup& setup_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Router>> routers_;
  std::map<std::tuple<Algorithm, int, std::size_t>, Loads> loads_;
};

}  // namespace

std::unique_ptr<NetworkEngine> make_flow_engine(const NetworkSetup& setup, std::uint64_t seed) {
  return std::make_unique<FlowEngine>(setup, seed);
}

}  // namespace fabricast
