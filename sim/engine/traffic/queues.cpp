// (1) of queues.hpp.
#include "queues.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/engine/loss.hpp"
#include "meeting_rule.hpp"

namespace fabricast {

namespace {

constexpr double nearly_full = 0.98;  // a link that carries this while others send counts as full

bool starts_at_nic(const Fabric& fabric, std::uint32_t resource) {
  return resource < fabric.links() && fabric.is_endpoint(fabric.link(LinkId(resource)).from);
}

/// Queues of the others' items, in the class of the call.
class OthersQueues {
 public:
  OthersQueues(const Background& others, const MeetingRule& rule) : others_(others), rule_(rule) {
    for (const Background::FlowPath& path : others.paths)
      for (std::size_t i = 1; counts(path.item) && i < path.resources.size(); ++i)
        before_[path.resources[i]].insert(path.resources[i - 1]);
  }

  /// (1), in s. \param theirs  uses of one resource
  double wait(std::span<const Background::Use> theirs, const ResourceRate& link) const {
    double load = 0, while_sending = 0, connections = 0;
    bool contended = false;
    for (const Background::Use& u : theirs) {
      if (!counts(u.item)) continue;
      const double part = use_where_contended(rule_, u) * others_.rate[u.item].value;
      load += part;
      while_sending += part / std::clamp(others_.duty[u.item], 1e-12, 1.0);
      connections += std::max(1.0, std::round(u.use * link.rate));
      contended |= u.contended;
    }
    if (load <= 0) return 0;
    const double ports = ports_of(theirs.front().resource, connections, contended);
    if (ports <= 1) return 0;
    if (while_sending >= nearly_full) return std::min(load, 1.0) * standing(ports, connections, link);
    const double random = std::min(load, nearly_full);
    return random / (2 * (1 - random)) * fractional(LossModel{}.packet) / link.rate * link.links;
  }

 private:
  bool counts(std::uint32_t item) const { return rule_.classes.empty() || others_.traffic_class[item] == rule_.own; }

  /// How many ports bring the traffic of a link. Paths say it. Without them, counts of links between switches do where
  /// contended links differ from others; in the end connections may all be of different ports.
  double ports_of(std::uint32_t resource, double connections, bool contended) const {
    if (const auto it = before_.find(resource); it != before_.end()) return static_cast<double>(it->second.size());
    if (rule_.contended < 1 && between_switches(*rule_.fabric, resource)) return contended ? 2 : 1;
    return connections;
  }

  double standing(double ports, double connections, const ResourceRate& link) const {
    const StandingQueue& queue = rule_.queue;
    if (queue.time.value > 0) return queue.time.value;
    const double room = fractional(queue.buffer) * ports / (1 + ports) * link.links;
    return std::min(room, fractional(queue.slots) * connections) / link.rate;
  }

  const Background& others_;
  const MeetingRule& rule_;
  std::map<std::uint32_t, std::set<std::uint32_t>> before_;  ///< by resource: those before it on paths
};

}  // namespace

RateOf rates_of(const NetworkSetup& setup, const Router& router) {
  return [&](std::uint32_t resource) {
    const std::uint32_t links = setup.fabric->links();
    const std::uint32_t count = resource < links ? 1 : router.bundle(resource - links).count;
    return ResourceRate{resource_rate(setup, router, resource).value, count};
  };
}

PathWait longer(const PathWait& a, const PathWait& b) { return {std::max(a.mean, b.mean), std::max(a.worst, b.worst)}; }

std::vector<PathWait> waits_behind(const Background& others, std::span<const Background::Use> uses,
                                   const std::vector<std::uint32_t>& group, const MeetingRule& rule,
                                   const RateOf& rate_of) {
  const OthersQueues queues(others, rule);
  std::vector<double> connections(group.size(), 0), waited(group.size(), 0);
  std::vector<PathWait> waits(group.empty() ? 0 : 1 + *std::max_element(group.begin(), group.end()));
  auto other = others.uses.begin();
  for (std::size_t first = 0, last = 0; first < uses.size(); first = last) {
    const std::uint32_t resource = uses[first].resource;
    while (last < uses.size() && uses[last].resource == resource) ++last;
    while (other != others.uses.end() && other->resource < resource) ++other;
    auto end = other;
    while (end != others.uses.end() && end->resource == resource) ++end;
    const bool at_nic = starts_at_nic(*rule.fabric, resource);
    if (other == end && !at_nic) continue;
    const ResourceRate rate = rate_of(resource);
    const double wait = at_nic ? 0 : queues.wait({other, end}, rate);
    for (std::size_t i = first; i < last; ++i) {
      const Background::Use& u = uses[i];
      // Bytes on the wire per byte of payload are the same on all links, so they do not matter here.
      const double crossed = u.use * rate.rate * (u.contended ? rule.contended : 1);
      if (at_nic) connections[u.item] += crossed;
      waited[u.item] += crossed * wait;
      PathWait& of_group = waits[group[u.item]];
      if (crossed > 0) of_group.worst = std::max(of_group.worst, Seconds{wait});
    }
  }
  for (std::size_t i = 0; i < group.size(); ++i)
    if (connections[i] > 0) waits[group[i]].mean = std::max(waits[group[i]].mean, Seconds{waited[i] / connections[i]});
  return waits;
}

GroupTime time_waiting(NetworkSetup setup, const Plan& plan, std::uint64_t seed, const Router& router,
                       const PathWait& wait) {
  for (NetworkSegment& segment : setup.segments) segment.queue = wait.mean;
  GroupTime time = time_group(setup, plan, seed, &router);
  if (plan.algorithm == Algorithm::ring) return time;
  const Seconds more = std::max(Seconds{}, wait.worst - wait.mean);
  for (ChannelPace& channel : time.channels) channel.makespan += more;
  time.longest += more;
  time.result.makespan += more;
  time.result.latency += more;
  return time;
}

}  // namespace fabricast
