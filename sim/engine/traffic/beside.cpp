// Traffic of other jobs, averaged over time, and a call that shares links with it (docs/models/jobs.md). Let a channel
// send for a fraction s of its collective, which runs for a fraction D of its job's time. The channel is an item for
// others:
//
//   d = D s,   its rate <= d r,   and links are fair to it as to d connections
//   r' = max-min over own channels, each at most r, and the others' items
//   T' = T + max_c T_c(r'_c) - max_c T_c(r_c)                                                                       (1)
//
// r and T_c are those of a call alone (engine/group_time.hpp). With the weight d, a call next to a job that pauses gets
// its average rate: 1 / (1 + d) of a link that both could fill. Where ports serve traffic classes by weight, these share
// first, and max-min holds within each (item_classes.hpp).
#include "fabricast/traffic/beside.hpp"

#include <algorithm>
#include <cmath>

#include "collective.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/scenario/traffic_classes.hpp"
#include "meeting_rule.hpp"
#include "queues.hpp"

namespace fabricast {

namespace {

bool by_resource(const Background::Use& a, const Background::Use& b) {
  return a.resource != b.resource ? a.resource < b.resource : a.item < b.item;
}

/// Fraction of the makespan in which a channel sends.
double sending(const ChannelPace& channel, Seconds makespan) {
  if (channel.rate.value <= 0 || makespan.value <= 0) return 0;
  return std::min(1.0, channel.payload() / channel.rate / makespan);
}

/// Calls f(resource, own uses, others' uses) for each resource that both have.
template <class F>
void for_each_common(std::span<const Background::Use> own, const std::vector<Background::Use>& others, F f) {
  auto other = others.begin();
  for (std::size_t first = 0; first < own.size();) {
    std::size_t last = first;
    const std::uint32_t resource = own[first].resource;
    while (last < own.size() && own[last].resource == resource) ++last;
    other =
        std::lower_bound(other, others.end(), resource, [](const auto& u, std::uint32_t r) { return u.resource < r; });
    auto end = other;
    while (end != others.end() && end->resource == resource) ++end;
    if (other != end) f(resource, own.subspan(first, last - first), std::span<const Background::Use>(other, end));
    other = end;
    first = last;
  }
}

std::uint64_t folded(std::uint64_t fingerprint, Seconds end) {
  return fold(fingerprint, static_cast<std::uint64_t>(std::llround(end.value * 1e12)));
}

}  // namespace

SharedRates rates_beside(const Background& others, std::span<const Background::Use> uses,
                         const std::vector<BytesPerSecond>& rate, const std::vector<double>& weight,
                         const MeetingRule& rule, std::span<const Background::FlowPath> paths) {
  SharedRates out{rate, std::vector<std::uint32_t>(rate.size(), no_link)};
  std::vector<LinkUse> contended;
  std::vector<std::uint32_t> number(others.rate.size(), no_link);
  std::vector<BytesPerSecond> caps(rate);
  std::vector<double> weights(weight);
  ItemClasses classes{rule.classes};
  for (std::size_t i = 0; i < rate.size(); ++i) classes.add_own(rule);
  std::vector<bool> meets(rate.size(), false);
  for_each_common(uses, others.uses, [&](std::uint32_t resource, auto own, auto theirs) {
    double load = 0;
    const auto use_of = [&](const Background::Use& u) { return use_where_contended(rule, u); };
    for (const Background::Use& u : own) load += use_of(u) * rate[u.item].value;
    for (const Background::Use& u : theirs) load += use_of(u) * others.rate[u.item].value;
    // A link that can carry all demands limits nobody.
    if (load <= full) return;
    for (const Background::Use& u : own) {
      contended.push_back({resource, u.item, use_of(u)});
      meets[u.item] = true;
    }
    for (const Background::Use& u : theirs) {
      std::uint32_t& n = number[u.item];
      // Only items that share a contended link with an own channel take part. There may be many others elsewhere.
      if (n == no_link) {
        n = static_cast<std::uint32_t>(caps.size());
        caps.push_back(others.rate[u.item]);
        weights.push_back(others.weight[u.item]);
        classes.add(others, u.item);
      }
      contended.push_back({resource, n, use_of(u)});
    }
  });
  if (!contended.empty()) {
    const LinkShares shares = share_links(caps, weights, std::move(contended), {}, classes);
    for (std::size_t i = 0; i < rate.size(); ++i)
      // Never more than alone: other traffic does not make a call faster.
      if (meets[i] && shares.rate[i] < rate[i]) {
        out.rate[i] = shares.rate[i];
        out.link[i] = shares.link[i];
      }
  }
  // A port that waits holds back channels that share no full link with anyone.
  if (!rule.by_port.empty()) hold_back(others, paths, rate, rule, out);
  return out;
}

Background combined(std::span<const Background* const> single, const MeetingRule& rule) {
  Background all;
  for (const Background* part : single) {
    const auto base = static_cast<std::uint32_t>(all.rate.size());
    all.rate.insert(all.rate.end(), part->rate.begin(), part->rate.end());
    all.weight.insert(all.weight.end(), part->weight.begin(), part->weight.end());
    all.owner.insert(all.owner.end(), part->owner.begin(), part->owner.end());
    all.duty.insert(all.duty.end(), part->duty.begin(), part->duty.end());
    all.traffic_class.insert(all.traffic_class.end(), part->traffic_class.begin(), part->traffic_class.end());
    for (const Background::Use& u : part->uses) all.uses.push_back({u.resource, u.item + base, u.use, u.contended});
    for (Background::FlowPath path : part->paths) {
      path.item += base;
      all.paths.push_back(std::move(path));
    }
  }
  // Also for a single owner: several hosts may send to one target, whose port cannot take all that they ask for.
  std::sort(all.uses.begin(), all.uses.end(), by_resource);
  mark_contended(all, rule, all.owner);
  std::vector<LinkUse> uses;
  for (const Background::Use& u : all.uses) uses.push_back({u.resource, u.item, u.use});
  ItemClasses classes{rule.classes};
  for (std::uint32_t i = 0; i < all.rate.size(); ++i) classes.add(all, i);
  const LinkShares shares = share_links(all.rate, all.weight, std::move(uses), {}, classes);
  const std::vector<BytesPerSecond> alone = all.rate;
  // The others share links among themselves first. Only then do a job's own channels share with them.
  for (std::size_t i = 0; i < all.rate.size(); ++i) all.rate[i] = std::min(all.rate[i], shares.rate[i]);
  if (!rule.by_port.empty()) hold_back_each_other(alone, rule, all);
  return all;
}

Background traffic_of(const World& world, const Program& program, std::span<const double> duty, std::uint64_t seed,
                      std::uint32_t owner) {
  Background all;
  if (world.planner().comm.nodes() < 2) return all;
  const std::uint32_t in = class_of_main(world);
  CollectiveTimer timer(world, program, seed);
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    if (duty[k] <= 0) continue;
    const std::unique_ptr<Collective> x = timer.time(program.collectives[k]);
    const auto base = static_cast<std::uint32_t>(all.rate.size());
    for (std::uint32_t i = 0; i < x->rate.size(); ++i) {
      const GroupTime& time = x->timed[x->team_of[i]]->time;
      const double share = duty[k] * sending(time.channels[i - x->first_item[x->team_of[i]]], time.result.makespan);
      all.rate.push_back(share * x->rate[i]);
      // Weights must be above 0, also for a channel that never sends.
      all.weight.push_back(std::max(share, 1e-12) * x->weight(i));
      all.owner.push_back(owner);
      all.duty.push_back(share);
      all.traffic_class.push_back(in);
    }
    for_each_use(*x->fabric, [&](std::uint32_t link, std::uint32_t item, double use, bool contended) {
      all.uses.push_back({link, base + item, use, contended});
    });
    timer.add_paths_of(program.collectives[k], *x, base, all.paths);
  }
  std::sort(all.uses.begin(), all.uses.end(), by_resource);
  return all;
}

CallBeside::CallBeside(const World& world, std::uint64_t seed) : world_(world), seed_(seed) {
  if (world.planner().comm.nodes() < 2) return;
  router_ = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(),
                                       world.setup().segments.front().links, seed);
  rule_ = meeting_rule(world, *router_);
}

CallBeside::~CallBeside() = default;

void CallBeside::slow_down(const Plan& plan, CollectiveResult& result) const {
  const Background* others = world_.beside_in(seed_);
  if (!others || !router_) return;
  const NetworkSetup& setup = world_.setup();
  GroupTime group = time_group(setup, plan, seed_, router_.get());
  std::vector<Background::Use> uses;
  const FabricConnections own(setup, *router_, plan, group.crossed);
  const double wire = wire_bytes(setup, plan);
  own.for_each([&](std::uint32_t resource, std::uint32_t kind) {
    const double rate = resource_rate(setup, *router_, resource).value;
    const double carries = own.contended(kind) ? setup.segments.front().contended : 1;
    for (const auto& [channel, connections] : own.of(kind))
      uses.push_back({resource, channel, connections * wire / rate / carries, own.contended(kind)});
  });
  wait_in_queues(*others, uses, plan, group, result);
  share_links_with(*others, uses, plan, group, result);
}

void CallBeside::wait_in_queues(const Background& others, std::span<const Background::Use> uses, const Plan& plan,
                                GroupTime& group, CollectiveResult& result) const {
  if (!rule_.queue.any()) return;
  const std::vector<std::uint32_t> one_group(group.channels.size(), 0);
  const RateOf rate = rates_of(world_.setup(), *router_);
  const PathWait wait = waits_behind(others, uses, one_group, rule_, rate).front();
  if (!wait.any()) return;
  const Seconds before = group.result.makespan;
  group = time_waiting(world_.setup(), plan, seed_, *router_, wait);
  const Seconds waited = group.result.makespan - before;
  if (waited.value <= 0) return;
  result.work = result.work * ((result.makespan + waited) / result.makespan);
  result.latency += waited;
  result.makespan += waited;
  result.fingerprint = folded(result.fingerprint, result.makespan);
}

void CallBeside::share_links_with(const Background& others, std::span<const Background::Use> uses, const Plan& plan,
                                  const GroupTime& group, CollectiveResult& result) const {
  std::vector<BytesPerSecond> rate;
  for (const ChannelPace& channel : group.channels) rate.push_back(channel.rate);
  std::vector<Background::FlowPath> paths;
  if (!rule_.by_port.empty() && !others.paths.empty()) add_paths(world_.setup(), *router_, plan, 0, paths);
  const SharedRates shared =
      rates_beside(others, uses, rate, std::vector<double>(rate.size(), group.weight), rule_, paths);
  const Seconds before = result.makespan;
  Seconds makespan = before;
  std::size_t slowest = rate.size();
  for (std::size_t c = 0; c < rate.size(); ++c) {
    const Seconds other = before + group.channels[c].at(shared.rate[c]) - group.longest;
    if (other > makespan) {
      makespan = other;
      slowest = c;
    }
  }
  // A result that others do not slow down stays unchanged, bit by bit.
  if (slowest == rate.size()) return;
  // Calls that overlap slow down in proportion, and the additional time counts as transfer.
  result.work = result.work * (makespan / before);
  result.transfer += makespan - before;
  result.makespan = makespan;
  if (shared.link[slowest] == no_link) return;
  Bottleneck at;
  at.name = resource_name(*world_.fabric(), *router_, shared.link[slowest]);
  at.rate = shared.rate[slowest];
  at.capacity = capacity(*world_.fabric(), *router_, world_.setup().segments.front().links, shared.link[slowest]);
  for (const Background::Use& u : uses)
    if (u.resource == shared.link[slowest]) at.sharers.push_back({static_cast<int>(u.item), u.use * at.capacity.value});
  result.bottleneck = std::move(at);
  result.fingerprint = folded(result.fingerprint, makespan);
}

}  // namespace fabricast
