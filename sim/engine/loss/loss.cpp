// Evaluates (1) to (5) of engine/loss.hpp. The constants are those of a dynamic threshold as switches ship it.
#include "fabricast/engine/loss.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// alpha of (4). Vendors ship 1/8 to 8 for lossy classes; 1 is a guess in between.
constexpr double threshold = 1;

/// Number of connections between nodes of a channel, their bytes relative to the call's, and how many of them belong to
/// ranks that wait for what they send to come back.
struct ChannelUse {
  double connections = 0, part = 0, waiting = 0;
};

ChannelUse use_of(const CallShape& call) {
  const double n = call.nodes;
  switch (call.algorithm) {
    case Algorithm::tree:
    case Algorithm::collnetdirect:
    case Algorithm::collnetchain:
    case Algorithm::nvls:
    case Algorithm::nvlstree:
      // Every node but the root sends up and waits; its parent sends down.
      return {2 * (n - 1), 1, n - 1};
    default: break;
  }
  if (is_chain(call.op)) return {n - 1, 1, 0};
  return {n, bus_factor(call.op, static_cast<std::int64_t>(call.ranks)), 0};
}

/// Smallest m with P(Poisson(mean) <= m)^chains >= u: the largest of `chains` samples.
int largest_poisson(double mean, double chains, double u) {
  if (mean <= 0) return 0;
  // Far from 0 the sum below would underflow; there the distribution is narrow.
  if (mean > 500) return static_cast<int>(std::lround(mean + std::sqrt(2 * mean * std::log(std::max(1.0, chains)))));
  double term = std::exp(-mean), sum = term;
  int m = 0;
  while (std::pow(std::min(1.0, sum), chains) < u && m < 10000) {
    ++m;
    term *= mean / m;
    sum += term;
  }
  return m;
}

/// (2), for all connections of a call together.
double repaired_twice(const LossModel& m, const CallPackets& call) {
  const double all = call.packets * 2 * m.lost * m.lost;
  if (!m.selective || all <= 0) return all;
  const double in_slots = std::max(1.0, fractional(m.slots) / fractional(m.packet));
  const double windows =
      std::max(1.0, call.packets / std::max(1.0, call.connections) / in_slots) * std::max(1.0, call.connections);
  return -windows * std::expm1(-all / windows);
}

/// Probability that at least one of `count` independent events of probability p happens.
double any_of(double p, double count) { return p >= 1 ? 1 : -std::expm1(count * std::log1p(-p)); }

}  // namespace

double lost_on_path(double per_cable, std::uint32_t cables) { return any_of(per_cable, cables); }

double goodput_of(const LossModel& m) {
  const double good = 1 - m.lost;
  return m.selective ? good : good / (good + m.lost * std::max(1.0, m.window));
}

double room_of(const LossModel& m, double ports) {
  return threshold * fractional(m.buffer) / (1 + threshold * std::max(1.0, ports));
}

CallPackets packets_of(const CallShape& call, Bytes packet) {
  CallPackets made;
  if (call.nodes < 2 || call.bytes <= 0) return made;
  const double size = fractional(packet), per_node = call.ranks / call.nodes;
  if (is_point_to_point(call.op)) {
    // Of a rank's messages, those to ranks of other nodes. In a sendrecv one rank of each node sends to another node.
    const bool all = call.op == CollectiveOp::alltoall, shift = call.op == CollectiveOp::sendrecv;
    made.connections = shift ? call.nodes : (call.ranks - per_node) * (all ? call.ranks : 1);
    made.chains = made.connections;
    made.packets = made.connections * std::ceil(call.bytes / (shift ? 1 : call.ranks) / size);
  } else {
    const ChannelUse use = use_of(call);
    made.connections = use.connections * call.channels;
    made.chains = call.channels;
    made.packets = made.connections * std::ceil(call.bytes * use.part / call.channels / size);
    made.last = use.waiting * call.channels;
  }
  // Their own acknowledgements may be lost as well.
  if (call.registered) made.last = 2 * made.connections;
  return made;
}

double dropped_at(const LossModel& m, const Overload& o) {
  if (!m.drops || o.ratio <= 1) return 0;
  const double in_slots = o.connections * fractional(m.slots) * (1 - 1 / o.ratio);
  const double until = m.reacts ? o.rate.value * m.reaction.value * (o.ratio - 1) : in_slots;
  const double filled = std::min(until, in_slots);
  return filled > 0 ? std::max(0.0, 1 - room_of(m, o.ports) / filled) : 0;
}

double timeouts_expected(const LossModel& m, const CallPackets& call, const Overload& o) {
  const double dropped = dropped_at(m, o);
  return repaired_twice(m, call) + call.last * m.lost + o.connections * dropped * dropped;
}

int timeouts_in_series(const LossModel& m, const CallPackets& call, const Overload& o, std::uint64_t seed) {
  if (call.connections <= 0) return 0;
  Rng rng(seed);
  const double repaired = rng.uniform(), last = rng.uniform(), dropped = rng.uniform();
  int count = largest_poisson(repaired_twice(m, call) / call.chains, call.chains, repaired);
  if (last < any_of(m.lost, call.last)) ++count;
  const double f = dropped_at(m, o);
  if (f <= 0) return count;
  if (!m.reacts) return count + std::max(1, static_cast<int>(std::lround(o.ratio - 1)));
  return dropped < any_of(f * f, o.connections) ? count + 1 : count;
}

}  // namespace fabricast
