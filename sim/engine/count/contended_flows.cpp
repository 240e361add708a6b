// (1) and (2) of contended_flows.hpp.
#include "contended_flows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "contended.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "loads.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_met = 48, most_flows = 96;
constexpr std::int64_t most_routed = 1 << 20;
constexpr double most_work = 8e5;  // flows times steps: 0.04 s
constexpr double in_turn = 8;      // ports that share a link in an alltoall: hosts of a leaf

double sum_of(std::span<const double> connections) {
  return std::accumulate(connections.begin(), connections.end(), 0.0);
}

/// Contended links, the most loaded one first.
std::vector<std::uint32_t> loaded_links(const FabricCount::Input& in, const FabricCount& count) {
  NetworkSegment segment = in.segment;
  segment.contended = 0.5;  // any that asks which links are
  const std::vector<bool> contended = contended_groups(count, in.plan, in.fabric, in.router, segment);
  std::vector<double> load(contended.size(), 0);
  for (std::size_t g = 0; g < load.size(); ++g) {
    const FabricCount::Group& group = count.groups()[g];
    const double rate = contended[g] ? rate_of(in.fabric, in.router, in.segment, group.resource) : 0;
    if (rate > 0) load[g] = sum_of(count.connections(group)) / rate;
  }
  // Links that carry less than half of the most loaded ones are not the last.
  const double least = load.empty() ? 0 : *std::max_element(load.begin(), load.end()) / 2;
  std::vector<std::pair<double, std::uint32_t>> links;
  if (least > 0)
    count.for_each([&](std::uint32_t resource, std::uint32_t group) {
      if (load[group] >= least) links.emplace_back(load[group], resource);
    });
  const auto first = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  // Every link has at least two flows.
  const std::size_t kept = std::min(links.size(), most_met);
  std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(kept), links.end(), first);
  std::vector<std::uint32_t> resources;
  for (std::size_t i = 0; i < kept; ++i) resources.push_back(links[i].second);
  return resources;
}

/// Calls use(channel, part, flow) for every queue pair.
template <class Use>
void for_each_pair(const FabricCount::Input& in, Use use) {
  const double parts = in.comm.qps_per_connection * message_weight_of(in.plan);
  for (std::uint32_t channel = 0; channel < static_cast<std::uint32_t>(in.plan.channels); ++channel)
    for_each_queue_pair(in.comm, in.plan, in.fabric, channel,
                        [&](const NetworkEdge& edge, const Flow& flow) { use(channel, edge.weight / parts, flow); });
}

}  // namespace

ContendedFlows::ContendedFlows(const FabricCount::Input& in, const FabricCount& count) {
  problem_.first.push_back(0);
  const std::vector<std::uint32_t> loaded = loaded_links(in, count);
  if (loaded.empty()) return;
  const std::int64_t pairs = std::int64_t{in.comm.nodes()} * in.plan.channels * in.comm.qps_per_connection;
  const bool listed = find_by_algorithm(in.plan.algorithm)->network_edges && !is_point_to_point(in.plan.op);
  if (listed && pairs <= most_routed)
    add_routed(in, loaded);
  else
    add_alone(in, count, loaded);
}

void ContendedFlows::add(std::uint32_t channel, double part, Seconds round_trip) {
  problem_.first.push_back(static_cast<std::uint32_t>(problem_.link.size()));
  problem_.round_trip.push_back(round_trip);
  channel_.push_back(channel);
  part_.push_back(part);
}

void ContendedFlows::add_routed(const FabricCount::Input& in, const std::vector<std::uint32_t>& loaded) {
  struct Routed {
    std::uint32_t channel;
    double part;
    Path path;
  };
  // First the flows on the most loaded links. There may be many of these, and only some of their flows are taken.
  std::map<std::uint32_t, std::size_t> rank;
  for (std::size_t i = 0; i < loaded.size(); ++i) rank.emplace(loaded[i], i);
  std::vector<std::vector<Routed>> on(loaded.size());
  Path path;
  for_each_pair(in, [&](std::uint32_t channel, double part, const Flow& flow) {
    if (!in.router.route(flow, path)) return;
    std::size_t first = loaded.size();
    for (const std::uint32_t r : path.resources)
      if (const auto it = rank.find(r); it != rank.end()) first = std::min(first, it->second);
    if (first < loaded.size() && on[first].size() < most_flows) on[first].push_back({channel, part, path});
  });
  std::map<std::uint32_t, std::uint32_t> number;  // of links
  std::set<std::uint32_t> shared;
  std::set<std::pair<std::uint32_t, std::vector<std::uint32_t>>> taken;  // by channel and path
  const auto take = [&](const Routed& flow) {
    Seconds serial;
    for (const std::uint32_t r : flow.path.resources) {
      const auto [it, fresh] = number.emplace(r, static_cast<std::uint32_t>(problem_.capacity.size()));
      if (fresh) problem_.capacity.push_back(BytesPerSecond{rate_of(in.fabric, in.router, in.segment, r)});
      problem_.link.push_back(it->second);
      serial += problem_.packet / problem_.capacity[it->second];
    }
    add(flow.channel, flow.part, 2 * flow.path.latency + serial);
  };
  for (const std::vector<Routed>& flows : on) {
    if (channel_.size() + flows.size() > most_met && !channel_.empty()) break;
    for (const Routed& flow : flows) {
      take(flow);
      taken.emplace(flow.channel, flow.path.resources);
      shared.insert(flow.path.resources.begin(), flow.path.resources.end());
    }
  }
  // Then those that share a link with them.
  for_each_pair(in, [&](std::uint32_t channel, double part, const Flow& flow) {
    if (channel_.size() >= most_flows || !in.router.route(flow, path)) return;
    const bool meets =
        std::any_of(path.resources.begin(), path.resources.end(), [&](std::uint32_t r) { return shared.contains(r); });
    if (meets && !taken.contains({channel, path.resources})) take({channel, part, path});
  });
}

void ContendedFlows::add_alone(const FabricCount::Input& in, const FabricCount& count,
                               const std::vector<std::uint32_t>& loaded) {
  // The port with the most connections in proportion to its rate, which brings the most to a link.
  double port_rate = 0, port_load = 0;
  for (const FabricCount::Group& group : count.groups()) {
    if (!is_port(in.fabric, group.resource)) continue;
    const double rate = rate_of(in.fabric, in.router, in.segment, group.resource);
    if (rate <= 0 || sum_of(count.connections(group)) / rate <= port_load) continue;
    port_rate = rate;
    port_load = sum_of(count.connections(group)) / rate;
  }
  if (port_load <= 0) return;
  const double message = message_weight_of(in.plan);
  Path path;
  const std::uint32_t ports = in.fabric.ports_per_node();
  const bool routed =
      in.router.route({in.comm.endpoint(0, 0, ports),
                       in.comm.endpoint(static_cast<std::uint32_t>(in.comm.nodes() - 1), 0, ports), 0, 0},
                      path);
  for (const std::uint32_t l : loaded) {
    const FabricCount::Group& group = count.groups()[count.group_of(l)];
    const std::span<const double> on = count.connections(group);
    const double all = sum_of(on), rate = rate_of(in.fabric, in.router, in.segment, l);
    const auto flows = static_cast<std::size_t>(std::clamp(std::round(all), 2.0, 1.0 * most_flows));
    if (channel_.size() + flows > most_flows && !channel_.empty()) break;
    // What arrives, if every port sends all it can: a part of the rate of each of several ports.
    const double senders = std::min(in_turn, 1.0 * static_cast<double>(flows)), brought = all / port_load / senders;
    const auto link = static_cast<std::uint32_t>(problem_.capacity.size());
    problem_.capacity.push_back(BytesPerSecond{rate});
    for (std::size_t s = 0; s < static_cast<std::size_t>(senders); ++s)
      problem_.capacity.push_back(BytesPerSecond{std::min(port_rate, brought)});
    const Seconds round_trip = (routed ? 2 * path.latency : Seconds{}) + 4 * (problem_.packet / BytesPerSecond{rate});
    // Flows in proportion to the channels' connections; fewer and larger ones where there are too many.
    std::size_t c = 0;
    double before = on.empty() ? 0 : on[0];
    for (std::size_t f = 0; f < flows; ++f) {
      const double at = (static_cast<double>(f) + 0.5) * all / static_cast<double>(flows);
      while (c + 1 < on.size() && at > before) before += on[++c];
      problem_.link.push_back(link + 1 + static_cast<std::uint32_t>(f % static_cast<std::size_t>(senders)));
      problem_.link.push_back(link);
      problem_.line.push_back(BytesPerSecond{port_rate});
      add(static_cast<std::uint32_t>(c), all / static_cast<double>(flows) / message, round_trip);
    }
  }
}

double ContendedFlows::efficiency(std::span<const double> payload, double wire, const DcqcnSettings& settings,
                                  std::uint64_t seed) const {
  if (empty()) return 1;
  DcqcnProblem problem = problem_;
  problem.settings = settings;
  problem.most_work = static_cast<std::uint64_t>(most_work);
  for (std::size_t f = 0; f < channel_.size(); ++f)
    problem.bytes.push_back(Bytes{std::llround(payload[channel_[f]] * wire * part_[f])});
  const std::vector<Seconds> fair = fair_ends(problem);
  const Seconds fair_last = *std::max_element(fair.begin(), fair.end());
  // Longer flows in longer steps, so that all of most flows is simulated, and 30 ms of any.
  const Seconds whole = 2 * fair_last * (static_cast<double>(channel_.size()) / most_work);
  // Switches pause in time.
  const Seconds full = settings.xoff / *std::max_element(problem.capacity.begin(), problem.capacity.end());
  const Seconds interval = std::min(settings.min_time_between_cnps, full / 5);
  problem.step = std::clamp(whole, std::min(problem.step, interval / 2), std::min(2 * problem.step, interval));
  const std::vector<Seconds> ends = dcqcn_ends(problem, seed).end;
  const Seconds last = *std::max_element(ends.begin(), ends.end());
  // Ends are known to a packet.
  const Seconds one = problem.packet / *std::min_element(problem.capacity.begin(), problem.capacity.end());
  return last <= fair_last + one ? 1 : fair_last / last;
}

}  // namespace fabricast
