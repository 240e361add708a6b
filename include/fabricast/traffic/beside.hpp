// Traffic of several jobs on one fabric: the average traffic of a job as others see it, and the slowdown of a call by
// the traffic of others. The equations are in docs/models/jobs.md and sim/engine/traffic/beside.cpp.
//
// Rates are bytes per second of payload. *Duty* is the fraction of time in which a collective runs. Where ports serve
// traffic classes by weight (`fabric.congestion.classes`), shares are those of engine/class_shares.hpp. The functions are
// safe to call concurrently.
//
// Not modelled: contention between jobs inside nodes, and timing of one job relative to another.
#pragma once

#include <memory>
#include <span>

#include "fabricast/engine/background.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/scenario/world.hpp"
#include "fabricast/traffic/traffic.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// The traffic of a job on the fabric, averaged over time, when the job has the fabric to itself. Each channel of each
/// collective is an item whose duty is the fraction of time in which the channel sends. Traffic inside nodes is
/// omitted.
/// \param duty   by collective kind: fraction of time in which it runs; above 1 if several calls run at once
/// \param owner  number of the job, for the items; their class is that of the world's own job
/// \throws UserError and Interrupted like make_flow_traffic
Background traffic_of(const World& world, const Program& program, std::span<const double> duty, std::uint64_t seed,
                      std::uint32_t owner);

/// What ports give a traffic class (engine/class_shares.hpp).
struct ClassWeight {
  double weight = 1;
  bool strict = false;
};

/// The queue in front of a link that others fill: a time if senders react to it, and what finds room if only pauses stop
/// them (sim/engine/traffic/queues.hpp).
struct StandingQueue {
  Seconds time;
  Bytes buffer;  ///< packet memory of a switch
  Bytes slots;   ///< what a connection sends before it waits
  bool any() const { return time.value > 0 || buffer.value > 0; }
};

/// How links are shared where traffic meets. Without a fabric, max-min fair and wholly.
struct MeetingRule {
  const Fabric* fabric = nullptr;
  double contended = 1;  ///< NetworkSegment::contended, of links between switches that several have
  /// By number of the resource, B/s: links are shared by ports (engine/port_shares.hpp). Empty: they are not.
  std::vector<double> by_port;
  std::vector<ClassWeight> classes;  ///< empty: all traffic is in one
  std::uint32_t own = 0;             ///< class of the job's own channels
  StandingQueue queue;
};
/// The rule of a world's `fabric.congestion`. Shares by ports need single paths: where the router spreads flows, links
/// stay fair.
MeetingRule meeting_rule(const World& world, const Router& router);

/// Raises the uses of links between switches that items of several sources have to those of contended links.
/// \param source  by item: its owner, or its NIC port
void mark_contended(Background& all, const MeetingRule& rule, const std::vector<std::uint32_t>& source);

/// The traffic of several jobs together. The rate of each item is reduced to its max-min share next to all others.
Background combined(std::span<const Background* const> single, const MeetingRule& rule = {});

/// The rates of a job's channels on links that others use as well.
struct SharedRates {
  std::vector<BytesPerSecond> rate;  ///< by channel; at most its rate without the others
  std::vector<std::uint32_t> link;   ///< by channel: the resource that limits it; no_link: the others do not slow it
};
/// Max-min shares of the job's channels and of the others' items, on the links that cannot carry both. Where links are
/// shared by ports, a channel that meets no other item may be held back as well: `link` is then a link on its path.
/// \param paths    of the job's channels, for shares by ports; empty: links stay fair
/// \param uses    of the job's channels, sorted by resource, then by item (here: channel)
/// \param rate    by channel: rate without the others
/// \param weight  by channel: links are fair to rate / weight
SharedRates rates_beside(const Background& others, std::span<const Background::Use> uses,
                         const std::vector<BytesPerSecond>& rate, const std::vector<double>& weight,
                         const MeetingRule& rule = {}, std::span<const Background::FlowPath> paths = {});

/// Slows single collectives down by the traffic of other jobs (World::beside), for one sample of the network. `world`
/// must outlive it. Not thread-safe.
class CallBeside {
 public:
  CallBeside(const World& world, std::uint64_t seed);
  ~CallBeside();
  /// Changes `result`, the engine's result for `plan` alone, to the time next to the others: makespan, work, latency,
  /// transfer, bottleneck and fingerprint. A result that the others do not slow down stays unchanged.
  void slow_down(const Plan& plan, CollectiveResult& result) const;

 private:
  void wait_in_queues(const Background& others, std::span<const Background::Use> uses, const Plan& plan,
                      GroupTime& group, CollectiveResult& result) const;
  void share_links_with(const Background& others, std::span<const Background::Use> uses, const Plan& plan,
                        const GroupTime& group, CollectiveResult& result) const;

  World world_;
  std::uint64_t seed_;
  std::unique_ptr<Router> router_;
  MeetingRule rule_;
};

}  // namespace fabricast
