// Computes (1) of collective.hpp. Results for one team are reused for as many others as possible:
//
//   time alone          for all teams of a shape, except those with a fault in one of their nodes
//   inside one node     for all such teams of the same shape and call, of any groups
//   counts of links     for one team only, because its connections use other links than those of other teams; but for
//   all
//                       calls with the same connections, and for all hardware
//   shares of links     those of the first node, for all nodes where equal teams do the same
//
// Threads time different groups. Data of a set of groups needs no lock; data that the sets have in common has one.
#include "collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/protocol/costs.hpp"
#include "fabricast/traffic/beside.hpp"
#include "queues.hpp"

namespace fabricast {

namespace {

/// Numbers of communicators that are reserved for a set of groups at a NIC: one for each shape.
constexpr std::uint32_t communicators_per_set = 64;

/// Finds the role of each node of a communicator, and the use of links by each role.
void find_roles(const Communicator& comm, TimedShape& shape) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(shape.plan.algorithm);
  // The engine has counted one node of each role, and each node with a fault. The others are like the node of their
  // role.
  std::map<std::uint64_t, std::uint32_t> first_of_role;
  std::map<std::uint32_t, std::uint32_t> place;  // by node: index into shape.inside
  for (const InsideUse& use : shape.time.inside)
    if (place.try_emplace(use.node, static_cast<std::uint32_t>(place.size())).second) shape.inside.emplace_back();
  for (const InsideUse& use : shape.time.inside) shape.inside[place[use.node]].push_back(use);
  for (std::vector<InsideUse>& inside : shape.inside) {
    std::stable_sort(inside.begin(), inside.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
    // A node with a fault that is also the first of its role is listed twice.
    const auto end =
        std::unique(inside.begin(), inside.end(), [](const auto& a, const auto& b) { return a.link == b.link; });
    inside.erase(end, inside.end());
  }
  if (shape.inside.empty()) shape.inside.emplace_back();
  for (std::uint32_t node = 0; node < comm.nodes(); ++node) {
    const std::uint64_t role = algorithm.node_role ? algorithm.node_role(comm, node) : 0;
    const std::uint32_t stands = first_of_role.try_emplace(role, node).first->second;
    const auto own = place.find(node), of_role = place.find(stands);
    // Counts of the node itself take precedence over those of its role.
    shape.role.push_back(own != place.end() ? own->second : of_role != place.end() ? of_role->second : 0);
  }
}

/// The links of the NIC ports of each NCCL node.
std::vector<std::vector<std::uint32_t>> ports_of_nodes(const Communicator& comm, const Fabric& fabric) {
  // A pass over all links, because in a fabric from a file the link of a port may have any number.
  std::vector<std::uint32_t> node_of_host(fabric.nodes(), Collective::none);
  for (std::uint32_t h = 0; h < comm.placement.size(); ++h) node_of_host[comm.placement[h]] = h / comm.hosts_per_node;
  std::vector<std::vector<std::uint32_t>> ports(static_cast<std::size_t>(comm.nodes()));
  for (std::uint32_t l = 0; l < fabric.links(); ++l) {
    const Fabric::Link link = fabric.link(LinkId(l));
    if (!fabric.is_endpoint(link.from) && !fabric.is_endpoint(link.to)) continue;
    const std::uint32_t endpoint = fabric.is_endpoint(link.from) ? link.from.value : link.to.value;
    const std::uint32_t node = node_of_host[endpoint / fabric.ports_per_node()];
    if (node != Collective::none) ports[node].push_back(l);
  }
  return ports;
}

/// The pace of data that goes from memory to memory. Only links limit it, and the time to post it:
///
///     T(r) = latency of an empty message + max( posting, bytes / r )
void send_directly(Seconds posting, GroupTime& time) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  time.longest = {};
  for (ChannelPace& channel : time.channels) {
    const Seconds latency = std::max(Seconds{}, channel.makespan - channel.whole.seconds(channel.rate));
    channel.cap = BytesPerSecond{infinity};
    channel.whole.least = posting;
    channel.tail = {};
    channel.makespan = latency + channel.whole.seconds(channel.rate);
    time.longest = std::max(time.longest, channel.makespan);
  }
  time.result.makespan = time.longest;
  time.result.launch = {};
}

std::vector<Background::Use> list_uses(const LinkUses& fabric) {
  std::vector<Background::Use> uses;
  for_each_use(fabric, [&](std::uint32_t link, std::uint32_t item, double use, bool contended) {
    uses.push_back({link, item, use, contended});
  });
  return uses;
}

}  // namespace

Seconds Collective::at(std::uint32_t item, BytesPerSecond other) const {
  const std::uint32_t team = team_of[item];
  const GroupTime& t = timed[team]->time;
  return t.result.makespan + t.channels[item - first_item[team]].at(other) - t.longest;
}

CollectiveTimer::CollectiveTimer(const World& world, const Program& program, std::uint64_t seed,
                                 std::shared_ptr<CollectiveCounts> counts)
    : world_(world), program_(program), seed_(seed), teams_(program.groups.size()), counts_(std::move(counts)) {
  // With faults, counts depend on which links are slow.
  if (counts_ && !world.setup().segments.front().faults.empty()) counts_ = nullptr;
  FABRICAST_CHECK(!counts_ || counts_->seed() == seed, "counts belong to one sample of the network");
  communicators_.push_back(std::make_unique<Communicators>(world));
  const Communicator& comm = world.planner().comm;
  // One router serves all groups, because there may be thousands.
  if (comm.nodes() > 1) {
    router_ = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(),
                                         world.setup().segments.front().links, seed);
    first_inside_ = world.fabric()->links() + router_->bundles();
    ports_ = ports_of_nodes(comm, *world.fabric());
    rule_ = meeting_rule(world, *router_);
  }
  others_ = world.beside_in(seed);
  nodes_ = static_cast<std::uint32_t>(comm.nodes());
  node_links_ = static_cast<std::uint32_t>(comm.node.graph.links.size());
}

const TeamSet& CollectiveTimer::teams_of_groups(const CollectiveKind& kind) {
  std::unique_ptr<TeamSet>& set = teams_.at(kind.groups);
  if (!set) set = std::make_unique<TeamSet>(teams_of(world_, program_.groups[kind.groups], kind));
  return *set;
}

std::uint32_t CollectiveTimer::number_of(const CollectiveKind& kind, std::uint32_t shape) const {
  // Further shapes reuse the numbers. If shapes with the same number share NICs, ECMP hashes their flows alike.
  return kind.groups * communicators_per_set + shape % communicators_per_set;
}

/// A thread has its own communicators while it times a collective, because their planners are placed where a team is.
std::unique_ptr<Communicators> CollectiveTimer::take_communicators() {
  const std::scoped_lock lock(mutex_);
  if (communicators_.empty()) return std::make_unique<Communicators>(world_);
  std::unique_ptr<Communicators> taken = std::move(communicators_.back());
  communicators_.pop_back();
  return taken;
}

void CollectiveTimer::give_back(std::unique_ptr<Communicators> taken) {
  const std::scoped_lock lock(mutex_);
  communicators_.push_back(std::move(taken));
}

CollectiveTimer::TimedTeam CollectiveTimer::time_team(Communicators& communicators, const CollectiveKind& kind,
                                                      const TeamSet& set, std::uint32_t team) {
  const Team& t = set.teams[team];
  const TeamShape& s = set.shapes[t.shape];
  // A node without a fault is like any other, so the place of the team does not matter.
  const bool alike = s.nodes == 1 && !communicators.is_faulty(t);
  const auto key = std::tuple(s, kind.op, kind.bytes, kind.one_way, kind.direct.rail, kind.direct.posting);
  if (alike) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = inside_.find(key); known != inside_.end()) return {known->second, nullptr};
  }
  const Planner& planner = communicators.of(s, t, number_of(kind, t.shape), kind.direct);
  auto shape = std::make_shared<TimedShape>();
  shape->place = t.placement.front();
  shape->plan = communicators.plan(planner, kind);
  NetworkSetup setup = communicators.setup(planner, kind);
  if (counts_ && s.nodes > 1) {
    setup.counts = counts_->of_team(kind.groups, t.shape, planner.comm);
    const std::scoped_lock lock(mutex_);
    // If the communicator connects differently, the crossings of these groups are not shared either.
    if (!setup.counts) unlike_.insert(kind.groups);
  }
  shape->time = time_group(setup, shape->plan, seed_, router_.get());
  if (kind.direct.is_on()) send_directly(kind.direct.posting, shape->time);
  find_roles(planner.comm, *shape);
  // The count belongs to this team's connections, but the time to all teams of the shape, so they are separated here.
  auto crossed = std::exchange(shape->time.crossed, nullptr);
  if (!alike) return {shape, std::move(crossed)};
  const std::scoped_lock lock(mutex_);
  return {inside_.emplace(key, shape).first->second, nullptr};
}

CollectiveTimer::SharedUses CollectiveTimer::fabric_of(Communicators& communicators, const CollectiveKind& kind,
                                                       const Collective& x, const Crossed& crossed) {
  std::vector<std::array<int, 3>> runs(x.teams->shapes.size());
  bool by_size = false, by_op = is_chain(kind.op);
  for (std::uint32_t t = 0; t < x.timed.size(); ++t) {
    const Plan& plan = x.timed[t]->plan;
    runs[x.teams->teams[t].shape] = {static_cast<int>(plan.algorithm), static_cast<int>(plan.protocol), plan.channels};
    // Which pairs of ranks communicate, and in which direction, may depend on the call.
    const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
    by_size |= algorithm.edge_key != nullptr;
    by_op |= algorithm.edges_by_op;
  }
  // The key holds only what determines the connections. For example, an all_gather and a reduce_scatter by rings cross
  // the same links, whatever their sizes.
  const CollectiveCounts::Key key{kind.groups, by_op || by_size ? static_cast<int>(kind.op) : -1,
                                  by_size ? kind.bytes : -1, by_size && kind.one_way, std::move(runs)};
  SharedUses* known = nullptr;  // needs no lock: one thread times these groups
  bool shared = false;
  {
    const std::scoped_lock lock(mutex_);
    known = &fabrics_[key];
    shared = counts_ && !unlike_.contains(kind.groups);
  }
  if (*known) return *known;
  const auto count = [&] {
    return std::make_shared<const Crossings>(count_crossings(communicators, kind, x, crossed));
  };
  // Counts are shared, but uses are not, because rates of links depend on the hardware.
  const std::shared_ptr<const Crossings> crossings = shared ? counts_->crossings(key, count) : count();
  *known = std::make_shared<const LinkUses>(uses_of(communicators, kind, x, *crossings));
  return *known;
}

Crossings CollectiveTimer::count_crossings(Communicators& communicators, const CollectiveKind& kind,
                                           const Collective& x, const Crossed& crossed) const {
  Crossings found;
  LinkUsesBuilder links;
  std::map<std::tuple<double, std::uint64_t, std::uint32_t>, std::uint32_t> values;
  // Values come in pairs if contended links carry less: of a link alone, and of one that is contended.
  const bool paired = world_.setup().segments.front().contended < 1;
  std::map<std::uint32_t, NetworkSetup> setups;  // by shape
  for (std::uint32_t t = 0; t < x.teams->teams.size(); ++t) {
    const Team& team = x.teams->teams[t];
    if (team.nodes.size() == 1) continue;
    const Planner& planner =
        communicators.of(x.teams->shapes[team.shape], team, number_of(kind, team.shape), kind.direct);
    auto setup = setups.find(team.shape);
    if (setup == setups.end()) setup = setups.emplace(team.shape, communicators.setup(planner, kind)).first;
    const FabricConnections own(setup->second, *router_, x.timed[t]->plan, crossed[t]);
    std::uint32_t first = 0;
    for (std::uint32_t k = 0; k < own.kinds(); ++k) {
      const std::uint32_t part = links.add_part();
      if (k == 0) first = part;
      for (const auto& [channel, connections] : own.of(k)) {
        // Equal numbers of connections on links of equal rate, for teams of one shape, are one value. Values are few,
        // while uses are millions.
        const auto [value, fresh] = values.try_emplace({connections, own.rate_kind(k), team.shape}, values.size());
        if (fresh) {
          for (int i = 0; i < (paired ? 2 : 1); ++i) links.add_value(connections);
          found.values.push_back({connections, own.lowest(k), team.shape});
        }
        const std::uint32_t second = paired ? 2 * value->second + (own.contended(k) ? 1 : 0) : value->second;
        links.add_use(x.first_item[t] + channel, second);
      }
    }
    own.for_each([&](std::uint32_t resource, std::uint32_t k) { links.add_link(resource, first + k); });
  }
  if (paired)
    found.links = links.build([&](std::uint32_t link) { return between_switches(*world_.fabric(), link); });
  else
    found.links = links.build();
  return found;
}

LinkUses CollectiveTimer::uses_of(Communicators& communicators, const CollectiveKind& kind, const Collective& x,
                                  const Crossings& crossings) const {
  std::map<std::uint32_t, double> wire;  // by shape
  NetworkSetup setup;
  for (std::uint32_t t = 0; t < x.teams->teams.size(); ++t) {
    const Team& team = x.teams->teams[t];
    if (team.nodes.size() == 1 || wire.contains(team.shape)) continue;
    const Planner& planner =
        communicators.of(x.teams->shapes[team.shape], team, number_of(kind, team.shape), kind.direct);
    // Bytes on the wire per byte of payload depend on the protocol, which is the same for all teams of a shape.
    setup = communicators.setup(planner, kind);
    wire[team.shape] = wire_bytes(setup, x.timed[t]->plan);
  }
  std::vector<double> uses;
  const double contended = world_.setup().segments.front().contended;
  for (const Crossings::Value& v : crossings.values) {
    uses.push_back(v.connections * wire[v.shape] / resource_rate(setup, *router_, v.link).value);
    if (contended < 1) uses.push_back(uses.back() / contended);
  }
  return crossings.links.with(std::move(uses));
}

/// Computes the signatures of nodes. Teams inside one node are alike if they share their times; other teams are only
/// like themselves.
void CollectiveTimer::sign_nodes(Collective& x) const {
  std::map<const TimedShape*, std::uint32_t> known;
  for (std::size_t n = 0; n < x.teams->nodes.size(); ++n) {
    std::uint64_t hash = 0;
    for (std::uint32_t m = x.teams->first[n]; m < x.teams->first[n + 1]; ++m) {
      const TeamMember& member = x.teams->members[m];
      const TimedShape* shape = x.timed[member.team].get();
      const bool inside = x.teams->teams[member.team].nodes.size() == 1;
      const std::uint32_t alike = known.try_emplace(shape, static_cast<std::uint32_t>(known.size())).first->second;
      // A team over several nodes has its own shares on the fabric, so only the same team counts as alike.
      hash =
          mix64(hash ^ (std::uint64_t{inside ? alike : member.team} << 32 | shape->role[member.index] << 1 | inside));
    }
    x.signature.push_back(hash);
  }
}

/// Computes the rates of all items. The first of several nodes with the same signature represents all of them.
LinkShares CollectiveTimer::share(const Collective& x) const {
  std::vector<BytesPerSecond> caps(x.team_of.size());
  std::vector<double> weights(x.team_of.size());
  for (std::uint32_t i = 0; i < caps.size(); ++i) {
    weights[i] = x.weight(i);
    caps[i] = x.timed[x.team_of[i]]->time.channels[i - x.first_item[x.team_of[i]]].cap;
  }
  std::vector<LinkUse> uses;  // of links inside nodes
  std::map<std::uint64_t, std::size_t> stands;
  for (std::size_t n = 0; n < x.teams->nodes.size(); ++n) {
    if (!stands.try_emplace(x.signature[n], n).second) continue;
    for (std::uint32_t m = x.teams->first[n]; m < x.teams->first[n + 1]; ++m) {
      const TeamMember& member = x.teams->members[m];
      for (const InsideUse& inside : x.inside_of(member))
        for (std::uint32_t c = 0; c < inside.use.size(); ++c)
          if (inside.use[c] > 0)
            uses.push_back({resource(x.teams->nodes[n], inside.link), x.first_item[member.team] + c, inside.use[c]});
    }
  }
  LinkShares shares = share_links(caps, weights, std::move(uses), *x.fabric);
  for (std::size_t n = 0; n < x.teams->nodes.size(); ++n) {
    const std::size_t first = stands[x.signature[n]];
    if (first == n) continue;
    for (std::uint32_t m = 0; m < x.teams->first[n + 1] - x.teams->first[n]; ++m) {
      const std::uint32_t from = x.teams->members[x.teams->first[first] + m].team,
                          to = x.teams->members[x.teams->first[n] + m].team;
      // Channels that leave the node are in the sharing problem themselves.
      if (x.teams->teams[to].nodes.size() > 1) continue;
      for (std::uint32_t c = 0; c < x.first_item[to + 1] - x.first_item[to]; ++c) {
        shares.rate[x.first_item[to] + c] = shares.rate[x.first_item[from] + c];
        shares.link[x.first_item[to] + c] = shares.link[x.first_item[from] + c];
      }
    }
  }
  return shares;
}

void CollectiveTimer::add_paths_of(const CollectiveKind& kind, const Collective& x, std::uint32_t first_item,
                                   std::vector<Background::FlowPath>& paths) {
  if (rule_.by_port.empty()) return;
  std::unique_ptr<Communicators> taken = take_communicators();
  for (std::uint32_t t = 0; t < x.teams->teams.size(); ++t) {
    const Team& team = x.teams->teams[t];
    if (team.nodes.size() == 1) continue;
    const Planner& planner = taken->of(x.teams->shapes[team.shape], team, number_of(kind, team.shape), kind.direct);
    add_paths(taken->setup(planner, kind), *router_, x.timed[t]->plan, first_item + x.first_item[t], paths);
  }
  give_back(std::move(taken));
}

/// Replaces the times of shapes whose teams wait in the queues of other jobs. The team of a shape that waits longest
/// stands for all of them. Pieces that are sent directly have no steps that could wait.
void CollectiveTimer::wait_in_queues(Communicators& communicators, const CollectiveKind& kind, Collective& x) const {
  if (kind.direct.is_on()) return;
  const std::vector<Background::Use> uses = list_uses(*x.fabric);
  const RateOf rate = rates_of(world_.setup(), *router_);
  const std::vector<PathWait> waits = waits_behind(*others_, uses, x.team_of, rule_, rate);
  std::map<const TimedShape*, PathWait> longest;
  for (std::uint32_t t = 0; t < waits.size(); ++t)
    if (waits[t].any()) longest[x.timed[t].get()] = longer(longest[x.timed[t].get()], waits[t]);
  std::map<const TimedShape*, std::shared_ptr<const TimedShape>> waiting;
  for (std::uint32_t t = 0; t < x.timed.size(); ++t) {
    const auto wait = longest.find(x.timed[t].get());
    if (wait == longest.end()) continue;
    std::shared_ptr<const TimedShape>& known = waiting[wait->first];
    if (!known) {
      const Team& team = x.teams->teams[t];
      const Planner& planner =
          communicators.of(x.teams->shapes[team.shape], team, number_of(kind, team.shape), kind.direct);
      auto slower = std::make_shared<TimedShape>(*wait->first);
      GroupTime time = time_waiting(communicators.setup(planner, kind), slower->plan, seed_, *router_, wait->second);
      slower->time.result = std::move(time.result);
      slower->time.channels = std::move(time.channels);
      slower->time.longest = time.longest;
      known = std::move(slower);
    }
    x.timed[t] = known;
  }
}

/// Lowers the rates to what other jobs leave. No channel gets more than without them.
void CollectiveTimer::share_with_others(const CollectiveKind& kind, Collective& x) {
  const std::vector<Background::Use> uses = list_uses(*x.fabric);
  std::vector<double> weights(x.rate.size());
  for (std::uint32_t i = 0; i < weights.size(); ++i) weights[i] = x.weight(i);
  std::vector<Background::FlowPath> paths;
  if (!others_->paths.empty()) add_paths_of(kind, x, 0, paths);
  SharedRates shared = rates_beside(*others_, uses, x.rate, weights, rule_, paths);
  for (std::uint32_t i = 0; i < x.rate.size(); ++i) {
    // Only items that others limit can end later than before.
    const Seconds makespan = shared.link[i] != no_link ? x.at(i, shared.rate[i]) : Seconds{};
    if (makespan > x.time.makespan) {
      x.time.makespan = makespan;
      x.time.bottleneck = name_of_resource(shared.link[i]);
    }
  }
  x.rate = std::move(shared.rate);
}

/// The name of a team's bottleneck. Teams inside one node are timed once for all nodes, so the node in the name is
/// replaced by the team's own.
std::string CollectiveTimer::bottleneck_of(const Collective& x, std::uint32_t team) const {
  const std::string& name = x.timed[team]->time.result.bottleneck.name;
  const std::string timed = fmt::format("node{}.", x.timed[team]->place);
  if (x.teams->teams[team].nodes.size() > 1 || !name.starts_with(timed)) return name;
  return fmt::format("node{}.{}", x.teams->teams[team].placement.front(), name.substr(timed.size()));
}

std::string CollectiveTimer::name_of_resource(std::uint32_t r) const {
  if (r < first_inside_) return resource_name(*world_.fabric(), *router_, r);
  const Communicator& comm = world_.planner().comm;
  return fmt::format("node{}.{}", comm.placement[std::size_t{node_of(r)} * comm.hosts_per_node],
                     comm.node.graph.link_name(link_of(r)));
}

/// What a direct transfer shows in place of NCCL's choice.
void CollectiveTimer::name_direct(const CollectiveKind::Direct& direct, BytesPerSecond rate, Collective& x) {
  x.time.algorithm = "direct";
  x.time.protocol = "zero copy";
  x.time.channels = 0;  // no kernel occupies SMs
  if (direct.posting > x.timed.front()->time.channels.front().payload() / rate)
    x.time.bottleneck = "posting of descriptors";
}

std::unique_ptr<Collective> CollectiveTimer::time(const CollectiveKind& kind) {
  stop_if_requested();
  std::unique_ptr<Communicators> taken = take_communicators();
  Communicators& communicators = *taken;
  auto x = std::make_unique<Collective>();
  x->teams = &teams_of_groups(kind);
  const std::vector<Team>& teams = x->teams->teams;
  std::vector<std::shared_ptr<const TimedShape>> of_shape(x->teams->shapes.size());
  Crossed crossed(teams.size());
  for (std::uint32_t t = 0; t < teams.size(); ++t) {
    std::shared_ptr<const TimedShape>& known = of_shape[teams[t].shape];
    const bool faulty = communicators.is_faulty(teams[t]);
    if (!faulty && known) {
      x->timed.push_back(known);
    } else {
      TimedTeam timed = time_team(communicators, kind, *x->teams, t);
      x->timed.push_back(timed.shape);
      crossed[t] = std::move(timed.crossed);
      if (!faulty) known = timed.shape;
    }
    x->first_item.push_back(static_cast<std::uint32_t>(x->team_of.size()));
    x->team_of.insert(x->team_of.end(), x->timed[t]->time.channels.size(), t);
  }
  x->first_item.push_back(static_cast<std::uint32_t>(x->team_of.size()));
  x->fabric = fabric_of(communicators, kind, *x, crossed);
  if (others_ && rule_.queue.any()) wait_in_queues(communicators, kind, *x);
  // From here on another thread may place these planners elsewhere. Nothing below uses them.
  give_back(std::move(taken));
  sign_nodes(*x);

  const GroupTime* slowest = nullptr;
  for (std::uint32_t t = 0; t < teams.size(); ++t) {
    const TimedShape& shape = *x->timed[t];
    x->time.launch = std::max(x->time.launch, shape.time.result.launch);
    // Algorithm, channels and bottleneck are those of the slowest team; the launch is the maximum of all.
    if (slowest && shape.time.result.makespan <= slowest->result.makespan) continue;
    slowest = &shape.time;
    x->time.makespan = shape.time.result.makespan;
    x->time.algorithm = name_of(shape.plan.algorithm);
    x->time.protocol = name_of(shape.plan.protocol);
    x->time.channels = shape.plan.open_channels();
    x->time.bottleneck = bottleneck_of(*x, t);
  }
  if (teams.size() == 1 && !kind.direct.is_on()) {
    // A single team shares with nobody. It keeps the engine's rates, so that its time equals that of `fabricast run`.
    for (const ChannelPace& channel : x->timed[0]->time.channels) x->rate.push_back(channel.rate);
  } else {
    const LinkShares shares = share(*x);
    x->rate = shares.rate;
    // The engine's time holds for the place of the team that was timed. Others of its shape may be faster, so the
    // maximum is taken anew.
    x->time.makespan = {};
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < x->rate.size(); ++i)
      if (const Seconds t = x->at(i, x->rate[i]); t > x->time.makespan) {
        x->time.makespan = t;
        last = i;
      }
    // The bottleneck changes only if sharing has cost time, beyond rounding.
    const bool shared = x->time.makespan > slowest->result.makespan * (1 + 1e-6) || kind.direct.is_on();
    if (shared && shares.link[last] != no_link) x->time.bottleneck = name_of_resource(shares.link[last]);
    if (kind.direct.is_on()) name_direct(kind.direct, x->rate[last], *x);
  }
  if (others_ && !x->fabric->empty()) share_with_others(kind, *x);
  add_loads(*x);
  find_behind(*x);
  return x;
}

}  // namespace fabricast
