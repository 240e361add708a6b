// (1) of network_counter.hpp: combines a count, which holds for any hardware, with the rates and latencies of this
// network.
#include "network_counter.hpp"

#include <algorithm>
#include <bit>

#include "contended.hpp"

namespace fabricast {

NetworkCounter::NetworkCounter(const Communicator& comm, const Plan& plan, const Fabric& fabric, const Router& router,
                               const NetworkSegment& segment, std::shared_ptr<SharedCount> count, std::size_t threads)
    : comm_(comm),
      plan_(plan),
      fabric_(fabric),
      router_(router),
      segment_(segment),
      count_(std::move(count)),
      threads_(threads) {}

/// Links of several kinds may have the same rate. On this hardware they are one group, which leaves fewer groups to
/// share over. The groups with the same counts and another kind are linked by `next`.
void NetworkCounter::add_groups(Loads& loads) {
  contention_.assign(loads.groups.size(), 0);
  const FabricCount& count = count_->count();
  group_of_.reserve(count.groups().size());
  const std::vector<bool> contended = contended_groups(count, plan_, fabric_, router_, segment_);
  for (const FabricCount::Group& counted : count.groups()) {
    double rate = rate_of(fabric_, router_, segment_, counted.resource);
    if (contended[group_of_.size()]) rate *= segment_.contended;
    std::uint32_t earlier = counted.next;
    while (earlier != no_group && loads.groups[group_of_[earlier]].capacity != rate)
      earlier = count.groups()[earlier].next;
    group_of_.push_back(earlier != no_group ? group_of_[earlier] : static_cast<std::uint32_t>(loads.groups.size()));
    if (earlier == no_group) {
      const auto connections = count.connections(counted);
      LinkGroup group;
      group.capacity = rate;
      group.resource = counted.resource;
      group.connections.assign(connections.begin(), connections.end());
      contention_.push_back(group.contention());
      loads.groups.push_back(std::move(group));
    }
    loads.groups[group_of_.back()].members += counted.members;
  }
  loads.blocked = count.blocked();
  seen_.resize(static_cast<std::size_t>(plan_.channels));
}

bool NetworkCounter::uses(LinkId link) const {
  if (count_->count().group_of(link.value) != no_group) return true;
  // A bundle is counted as one resource. Its links in one direction are first, first + 2 and so on.
  for (std::uint32_t b = 0; b < router_.bundles(); ++b) {
    const auto [first, count] = router_.bundle(b);
    const bool member = link.value >= first && link.value < first + 2 * count && (link.value - first) % 2 == 0;
    if (member && count_->count().group_of(fabric_.links() + b) != no_group) return true;
  }
  return false;
}

double NetworkCounter::mean_latency(std::uint32_t channel) const {
  double sum = 0;
  std::uint64_t all = 0;
  Path path;
  for (const FabricCount::Trips& trips : count_->count().trips(channel)) {
    // If they were counted on other hardware, latencies may differ. Paths with equal latencies there have equal
    // latencies here (count_store.cpp), so one of them is routed for all.
    const bool as_counted = count_->one_hardware() || !router_.route(trips.first, path);
    sum += (as_counted ? trips.latency : path.latency.value) * static_cast<double>(trips.count);
    all += trips.count;
  }
  return all ? sum / static_cast<double>(all) + segment_.queue.value : 0;
}

const EdgePaths* NetworkCounter::edge_paths() {
  if (edge_paths_) return *edge_paths_;
  // Paths come from the count, rates from this network.
  edge_paths_ = count_->edge_paths(input());
  if (!*edge_paths_) return nullptr;
  for (const EdgePaths::Link& link : (*edge_paths_)->links) edge_rates_.push_back(rate(link.resource));
  // Every size asks for all of them.
  for (const std::vector<EdgePaths::Edge>& edges : (*edge_paths_)->edges) {
    std::vector<double>& slowest = slowest_links_.emplace_back();
    slowest.reserve(edges.size());
    for (const EdgePaths::Edge& edge : edges) slowest.push_back(slowest_link(edge));
  }
  return *edge_paths_;
}

double NetworkCounter::slowest_link(const EdgePaths::Edge& edge) const {
  double slowest = 0;
  const EdgePaths& paths = **edge_paths_;
  for (const EdgePaths::Pair& pair : paths.of(edge))
    for (const EdgePaths::Hop& hop : paths.of(pair)) slowest = std::max(slowest, hop.part / edge_rates_[hop.link]);
  return slowest;
}

const std::vector<double>& NetworkCounter::slowest_on_paths() {
  const EdgePaths* paths = edge_paths();
  // Kept, because every size and protocol requests it.
  if (!slowest_on_paths_.empty() || !paths) return slowest_on_paths_;
  for (std::uint32_t c = 0; c < paths->edges.size(); ++c) {
    double& sum = slowest_on_paths_.emplace_back(0);
    for (std::size_t e = 0; e < paths->edges[c].size(); ++e) sum += slowest_link(c, e);
  }
  return slowest_on_paths_;
}

const EdgeGroups& NetworkCounter::edges(std::uint32_t channel) {
  // Computed only for channels that are timed: one or two of each class.
  if (!seen_[channel].routes) see(channel, seen_[channel]);
  return seen_[channel];
}

void NetworkCounter::see(std::uint32_t channel, EdgeGroups& out) {
  out.routes = count_->routes(input(), channel);
  out.views.reserve(out.routes->routes.size());
  for (const EdgeRoutes::Route& route : out.routes->routes) out.views.push_back(view_of(*out.routes, route));
}

EdgeGroups::View NetworkCounter::view_of(const EdgeRoutes& routes, const EdgeRoutes::Route& route) const {
  EdgeGroups::View view;
  for (const std::uint32_t g : routes.groups_of(route)) {
    const bool between = (g & EdgeRoutes::between) != 0;
    // The route marks the links between switches. The group cannot: with faults, ports and other links of the same rate
    // may be in one group.
    const std::uint32_t group = group_of_[g & ~EdgeRoutes::between];
    if (view.group == no_group || contention_[group] > contention_[view.group]) view.group = group;
    if (between && (view.middle == no_group || contention_[group] > contention_[view.middle])) view.middle = group;
  }
  // Otherwise the latency is that of other hardware, or the path has not been routed, as below a leaf.
  if (count_->one_hardware() && route.latency > 0) {
    view.latency = route.latency + segment_.queue.value;
    view.port = group_of_[routes.groups_of(route).front()];
    return view;
  }
  Flow flow = route.first;
  Path path;
  for (int q = 0; q < comm_.qps_per_connection; ++q, ++flow.from_qp, ++flow.to_qp) {
    if (!router_.route(flow, path)) continue;  // its channel is blocked
    // The slowest of the queue pairs, which have consecutive numbers.
    view.latency = std::max(view.latency, path.latency.value + segment_.queue.value);
    view.port = group_of_[count_->count().group_of(path.resources.front())];
  }
  return view;
}

}  // namespace fabricast
