// From rates and simulated effects to events: rows of the report, and sources of failures of a month (events.hpp; the
// table of components is in docs/models/risk.md).
//
// The listing is made twice: once to find out which effects to simulate, and again with these effects. What-ifs list
// with a changed section and reuse the effects.
#include "events.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "checkpoint.hpp"
#include "fabricast/report/step.hpp"
#include "flaps.hpp"

namespace fabricast {

namespace {

/// A future row of the report, with what determines its effect and its cost.
struct Event {
  RiskClass row;
  std::optional<EffectKey> key;
  double detect = 0;                   ///< s until a stop is noticed
  int hosts = 0;                       ///< number of hosts that a stop takes away until the repair
  double stall = 0, stall_square = 0;  ///< mean and mean square of a stall by a flap or by rerouting, s and s^2
};

/// Lists the events of a scenario. With p planes, of which one has the fraction r of its rate, (p - 1 + r) / p remains.
class Listing {
 public:
  Listing(const Ground& ground, const ReliabilitySpec& spec)
      : g_(ground), spec_(spec), transport_(transport_of(ground.world, spec)) {}

  std::vector<Event> list() {
    const Scenario& s = g_.world.scenario();
    const std::int64_t hosts = s.cluster.nodes, gpus = hosts * s.node.spec.gpus;
    stop(Component::gpu, gpus, spec_.failures.gpu, 1);
    stop(Component::host, hosts, spec_.failures.host, 1);
    stop(Component::software, gpus, spec_.failures.software, 0);
    slow_hosts(hosts);
    pause_storms();
    if (g_.elements)
      for (std::size_t c = 0; c < g_.elements->classes().size(); ++c) of_class(c);
    return std::move(events_);
  }

 private:
  // What always stops the job. NCCL has no fault tolerance here, so one lost GPU or host ends all ranks. Software
  // failures lose no host: the job restarts on the same ones.
  void stop(Component component, std::int64_t count, Ratio share, int hosts) {
    Event e;
    e.row.component = component;
    e.row.count = count;
    e.row.stops = true;
    e.row.per_month = share.value * static_cast<double>(count);
    e.row.lasts = hosts > 0 ? spec_.repair.host : Seconds{};
    e.detect = spec_.restart.detect.value;
    e.hosts = hosts;
    events_.push_back(e);
  }

  // A slow host holds up its stage, and the stage all others: the step takes x c longer, c the computing time of the
  // busiest stage. Collectives do not take longer.
  void slow_hosts(std::int64_t hosts) {
    Event e;
    e.row.component = Component::host;
    e.row.mishap = Mishap::slow;
    e.row.count = hosts;
    e.row.slowdown = e.row.worst = 1 + spec_.stragglers.slowdown.value * g_.computing / g_.median;
    e.row.per_month = spec_.stragglers.hosts.value * static_cast<double>(hosts);
    e.row.lasts = spec_.stragglers.last;
    if (e.row.slowdown > 1) events_.push_back(e);
  }

  // A NIC that pauses its leaf without end fills the leaf's memory with what is for it. A lossless leaf then pauses all
  // that send through it, and these their senders [Guo2016]. The job waits for the slowest, so it stands still, whichever
  // NIC at one of its leaves began. A switch that drops holds up the traffic to that NIC alone.
  void pause_storms() {
    if (!g_.elements) return;
    const PauseStormSpec& spec = spec_.pause_storms;
    Event e;
    e.row.component = Component::nic;
    e.row.mishap = Mishap::storm;
    e.row.count = g_.elements->nic_ports(g_.world.scenario().fabric.congestion.lossless);
    e.row.per_month = spec.nic.value * static_cast<double>(e.row.count);
    e.row.lasts = spec.last;
    // What waits longer than the transport does ends the job.
    e.row.stops = spec.last.value > transport_.window;
    e.detect = std::min(spec_.restart.detect.value, transport_.window);
    if (e.row.per_month > 0) events_.push_back(e);
  }

  void of_class(std::size_t c) {
    const ElementClass& elements = g_.elements->classes()[c];
    switch (elements.component) {
      case Component::nic_cable:
        of_planes(c, spec_.failures.nic_cable, spec_.degraded.cable, spec_.repair.cable, 1);
        flaps(c);
        return of_nics(c);
      case Component::leaf_spine_cable:
      case Component::spine_core_cable:
        of_network(c, spec_.failures.fabric_cable, spec_.degraded.cable, spec_.repair.cable);
        return flaps(c);
      case Component::leaf:
        return of_planes(c, spec_.failures.leaf, Ratio{0}, spec_.repair.switches,
                         elements.role == Role::idle ? 0 : g_.elements->hosts_at(elements.members.front()));
      case Component::spine: return of_network(c, spec_.failures.spine, Ratio{0}, spec_.repair.switches);
      case Component::core: return of_network(c, spec_.failures.core, Ratio{0}, spec_.repair.switches);
      default: return of_planes(c, Ratio{0}, Ratio{0}, spec_.repair.switches, g_.world.scenario().cluster.nodes);
    }
  }

  Event made(std::size_t c, Mishap mishap, double left, double per_element, Seconds lasts) const {
    const ElementClass& elements = g_.elements->classes()[c];
    Event e;
    e.row.component = elements.component;
    e.row.mishap = mishap;
    e.row.role = elements.role;
    e.row.left = left;
    // One link of the fabric stands for one in each plane.
    e.row.count = static_cast<std::int64_t>(elements.members.size()) * spec_.planes;
    e.row.per_month = per_element * static_cast<double>(e.row.count);
    e.row.lasts = lasts;
    // A network failure is noticed by the transport, which gives up after its window, unless the watchdog is faster.
    e.detect = std::min(spec_.restart.detect.value, transport_.window);
    if (elements.role != Role::idle) e.key = EffectKey{c, left};
    return e;
  }

  void degraded(std::size_t c, Ratio share, Seconds lasts, int planes) {
    if (g_.elements->classes()[c].role == Role::idle) return;
    // The rate of degradations is spread evenly over the fractions that are given.
    const auto rates = static_cast<double>(spec_.degraded.rates.size());
    for (const Ratio rate : spec_.degraded.rates) {
      const double left = (planes - 1 + rate.value) / planes;
      events_.push_back(made(c, Mishap::degraded, left, share.value / rates, lasts));
    }
  }

  /// Components that each plane has separately at the NICs. If one of several planes is lost, the others remain.
  void of_planes(std::size_t c, Ratio fails, Ratio slows, Seconds lasts, int hosts) {
    Event down = made(c, Mishap::down, (spec_.planes - 1.0) / spec_.planes, fails.value, lasts);
    down.hosts = hosts;
    reroute(down);
    events_.push_back(down);
    degraded(c, slows, lasts, spec_.planes);
  }

  /// Components that switches can route around. With several planes, all lose theirs at once: an upper bound.
  void of_network(std::size_t c, Ratio fails, Ratio slows, Seconds lasts) {
    Event down = made(c, Mishap::down, 0, fails.value, lasts);
    down.hosts = g_.world.scenario().cluster.nodes;
    reroute(down);
    events_.push_back(down);
    degraded(c, slows, lasts, 1);
  }

  // NICs have one element per cable of the fabric. A failed NIC takes its host with it, and planes do not multiply
  // NICs.
  void of_nics(std::size_t c) {
    const ElementClass& elements = g_.elements->classes()[c];
    const auto count = static_cast<std::int64_t>(elements.members.size());
    if (elements.role == Role::idle) return;
    stop(Component::nic, count, spec_.failures.nic, 1);
    events_.back().detect = std::min(spec_.restart.detect.value, transport_.window);
    const std::size_t first = events_.size();
    degraded(c, spec_.degraded.nic, spec_.repair.host, 1);
    // `degraded` made events of cables; they become events of NICs, with as many elements as there are NICs.
    for (std::size_t i = first; i < events_.size(); ++i) {
      RiskClass& row = events_[i].row;
      row.per_month *= static_cast<double>(count) / static_cast<double>(row.count);
      row.component = Component::nic;
      row.count = count;
    }
  }

  /// Packets are lost until traffic takes another path. If that takes longer than the transport waits, the job stops.
  void reroute(Event& e) const {
    if (spec_.reroute.value > transport_.window) e.row.stops = true;
    e.stall = spec_.reroute.value;
    e.stall_square = e.stall * e.stall;
  }

  void flaps(std::size_t c) {
    const ElementClass& elements = g_.elements->classes()[c];
    if (elements.role == Role::idle) return;
    // A NIC with one port has no other path, so its flaps are waited out.
    const bool ridden = elements.component == Component::nic_cable && spec_.planes == 1;
    const FlapMoments m = flap_moments(spec_.flaps, transport_, ridden ? never : spec_.reroute.value);
    // Flaps that are survived and those that are not are two rows, since one costs stalls and the other restarts. The
    // effect of a cable that is down says whether it carries traffic.
    Event flap = made(c, Mishap::flap, 0, spec_.flaps.cable * (1 - m.stops), Seconds{m.stall});
    flap.stall = m.stall;
    flap.stall_square = m.square;
    // Flaps of NIC cables always affect the job.
    if (elements.component == Component::nic_cable) flap.key.reset();
    events_.push_back(flap);
    Event stops = made(c, Mishap::long_flap, 0, spec_.flaps.cable * m.stops, Seconds{0});
    stops.row.stops = true;
    stops.key = flap.key;
    if (m.stops > 0) events_.push_back(stops);
  }

  const Ground& g_;
  const ReliabilitySpec& spec_;
  Transport transport_;
  std::vector<Event> events_;
};

bool is_flap(const Event& e) { return e.row.mishap == Mishap::flap || e.row.mishap == Mishap::long_flap; }

/// Applies the simulated effect of a class to one of its events.
void take_effect(Event& e, const Effects& effects) {
  if (!e.key) return;
  // The effect of an event with rate 0 may be unknown.
  const auto known = effects.find(*e.key);
  FABRICAST_CHECK(known != effects.end() || e.row.per_month == 0, "an effect has not been simulated");
  if (known == effects.end()) return;
  const Effect& effect = known->second;
  if (is_flap(e)) {
    // A flap of a cable between switches matters only if the cable carries traffic of the job.
    e.row.carries = effect.carries;
    e.row.per_month *= effect.carries;
    return;
  }
  e.row.slowdown = effect.mean;
  e.row.worst = effect.worst;
  e.row.example = effect.example;
  e.row.simulated = static_cast<int>(effect.slowdowns.size());
  e.row.carries = effect.carries;
  if (e.row.stops && !effect.stops)
    e.row.per_month *= effect.carries;  // rerouting takes too long, but only cables with traffic stop the job
  e.row.stops = e.row.stops || effect.stops;
  if (e.row.stops) e.row.slowdown = e.row.worst = 1;
  e.stall *= effect.carries;
  e.stall_square *= effect.carries;
}

// Sizes and times of a checkpoint: parameters x bytes, written by all hosts in parallel to storage, or first copied to
// host memory [Jiang2024]. `durable` is what the copy still needs to storage after the step continues.
CheckpointPlan checkpoint_of(const Ground& g, const CheckpointSpec& spec, double stops, Seconds month) {
  CheckpointPlan plan;
  const Scenario& s = g.world.scenario();
  plan.between_stops = stops > 0 ? month / stops : Seconds{never};
  plan.every = plan.best = Seconds{never};
  if (s.workload.kind != WorkloadKind::training_step) return plan;
  const double hosts = s.cluster.nodes, gpus = hosts * s.node.spec.gpus;
  const TrainingStep step = step_of(g.world);
  const std::int64_t parameters = count_parameters(step.model).total + step.mtp_layers * mtp_parameters(step.model);
  plan.bytes = whole_bytes(static_cast<double>(parameters) * spec.bytes_per_parameter);
  plan.load = plan.bytes / (hosts * spec.storage);
  plan.pause = spec.asynchronous ? plan.bytes / (gpus * spec.copy) : plan.load;
  plan.durable = spec.asynchronous ? plan.load : Seconds{};
  // A checkpoint starts only when the previous one is written, and there is at most one per step.
  plan.best = std::max({best_interval(plan.pause, plan.between_stops), plan.durable - plan.pause, Seconds{g.median}});
  plan.every = spec.every > Seconds{} ? std::max(spec.every, Seconds{g.median}) : plan.best;
  return plan;
}

}  // namespace

Transport transport_of(const World& world, const ReliabilitySpec& spec) {
  return transport_of(world.scenario(), world.provider(), spec.transport);
}

std::vector<EffectKey> effects_wanted(const Ground& ground, const ReliabilitySpec& spec, bool all) {
  std::vector<EffectKey> keys;
  for (const Event& e : Listing(ground, spec).list())
    if (e.key && (all || e.row.per_month > 0)) keys.push_back(*e.key);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Outlook outlook_of(const Ground& ground, const ReliabilitySpec& spec, const Effects& effects, Seconds month) {
  std::vector<Event> events = Listing(ground, spec).list();
  Outlook out;
  double stops = 0;
  for (Event& e : events) {
    take_effect(e, effects);
    if (e.row.role == Role::idle) {
      e.row.stops = false;
      e.row.slowdown = 1;
    }
    if (e.row.stops) stops += e.row.per_month;
  }
  out.transport = transport_of(ground.world, spec);
  out.checkpoint = checkpoint_of(ground, spec.checkpoint, stops, nominal_month);
  const int nodes = ground.world.scenario().cluster.nodes;
  out.spares = spec.spares >= 0 ? spec.spares : (nodes + 15) / 16;
  MonthModel& model = out.model;
  model.length = month.value;
  model.network_samples = ground.healthy;
  model.median = ground.median;
  model.saves =
      std::isfinite(out.checkpoint.every.value) && ground.world.scenario().workload.kind == WorkloadKind::training_step;
  model.every = out.checkpoint.every.value;
  model.pause = out.checkpoint.pause.value;
  model.durable = out.checkpoint.durable.value;
  model.start = spec.restart.start.value + out.checkpoint.load.value;
  model.spares = out.spares;
  // On average half an interval of work is lost, and what was not yet durable.
  const double redone = model.saves ? model.every / 2 + model.durable : 0;
  for (const Event& e : events) {
    RiskClass row = e.row;
    const double stalled = row.stops || row.role == Role::idle ? 0 : row.per_month * e.stall;
    // The time that a stop waits for hosts is added after the months have been sampled (add_waits).
    // A storm stands still for its whole length.
    const bool halts = row.mishap == Mishap::storm && !row.stops;
    const double slowdown = halts ? never : row.slowdown;
    const double lost = row.stops ? redone + e.detect + model.start : row.lasts.value * (1 - 1 / slowdown);
    // Each class alone; months also know what happens when events overlap.
    row.hours = (row.mishap == Mishap::flap ? stalled : row.per_month * lost + stalled) / 3600;
    out.rows.push_back(row);
    if (row.role == Role::idle || row.per_month == 0) continue;
    const double rate = row.per_month / nominal_month.value;
    if (!row.stops) {
      model.stalls += rate * e.stall;
      model.stalls_variance += rate * e.stall_square / month.value;
    }
    // Flaps enter the month as a mean number of stalls (month.hpp), not one by one. Failures without an effect on the
    // time are no source.
    if (row.mishap == Mishap::flap || (!row.stops && row.worst <= 1 && !halts)) continue;
    FailureSource source;
    source.rate = rate;
    source.stops = row.stops;
    source.lasts = row.lasts.value;
    source.detect = e.detect;
    source.hosts = e.hosts;
    if (!row.stops) source.slowdowns = e.key ? effects.at(*e.key).slowdowns : std::vector<double>{slowdown};
    model.sources.push_back(std::move(source));
    out.row_of_source.push_back(out.rows.size() - 1);
  }
  return out;
}

}  // namespace fabricast
