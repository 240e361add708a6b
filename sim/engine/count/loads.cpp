// (1) of loads.hpp: links inside the nodes (inside.cpp), then those of the fabric (network_counter.cpp). Both are in
// one list of groups, because either may bind a channel's share.
//
// Counts do not depend on rates; these enter here. In B/s, with `ports` as the fraction of a NIC's rate that an
// operation reaches,
//
//   C_l = rate of l, or of all links of the bundle l, with faults  x  ports, if l is the link of a NIC port         (2)
#include "loads.hpp"

#include <fmt/format.h>

#include "fabricast/protocol/costs.hpp"
#include "network_counter.hpp"

namespace fabricast {

Flow flow_of(const Communicator& comm, const Fabric& fabric, const NetworkEdge& edge, std::uint32_t channel,
             std::size_t edge_index, std::uint32_t pair) {
  return flow_between(comm, comm.endpoint(edge.from, edge.from_nic, fabric.ports_per_node()),
                      comm.endpoint(edge.to, edge.to_nic, fabric.ports_per_node()), edge.channel_or(channel),
                      static_cast<std::uint32_t>(edge_index % 2), pair);
}

double message_weight_of(const Plan& plan) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  return algorithm.message_weight ? algorithm.message_weight(plan) : 1;
}

Plan plan_of_streams(Plan plan) {
  if (find_by_algorithm(plan.algorithm)->one_stream) plan.channels = 1;
  return plan;
}

Loads count_loads(const Communicator& comm, const Plan& plan, const Fabric* fabric, const Router* router,
                  const NetworkSegment& segment, InsidePaths& paths, std::shared_ptr<SharedCount> count,
                  std::size_t threads) {
  Loads loads;
  loads.inside.resize(static_cast<std::size_t>(plan.channels));
  loads.blocked.assign(loads.inside.size(), false);
  count_inside(comm, plan, segment, paths, loads);
  if (comm.nodes() > 1) {
    if (!count)
      // No count is shared: a fault is in force, or there is only one engine.
      count = count_alone({comm, plan, *fabric, *router, segment, protocol_costs(comm, plan).tree_weight, threads});
    loads.network = std::make_shared<NetworkCounter>(comm, plan, *fabric, *router, segment, std::move(count), threads);
    loads.network->add_groups(loads);
  }
  return loads;
}

const EdgeGroups& Loads::edges(int channel) const {
  // On a single node nothing crosses the fabric.
  static const EdgeGroups none;
  return network ? network->edges(static_cast<std::uint32_t>(channel)) : none;
}

double Loads::mean_latency(int channel) const {
  return network ? network->mean_latency(static_cast<std::uint32_t>(channel)) : 0;
}

std::size_t EdgeGroups::size() const { return routes ? routes->route.size() : 0; }

std::uint32_t EdgeGroups::route(std::size_t edge) const { return routes->route[edge]; }

bool Loads::uses(LinkId link) const { return network && network->uses(link); }

bool is_port(const Fabric& fabric, std::uint32_t resource) {
  // Bundles connect switches.
  if (resource >= fabric.links()) return false;
  const Fabric::Link link = fabric.link(LinkId(resource));
  return fabric.is_endpoint(link.from) || fabric.is_endpoint(link.to);
}

double rate_of(const Fabric& fabric, const Router& router, const NetworkSegment& segment, std::uint32_t resource) {
  const double rate = capacity(fabric, router, segment.links, resource).value;
  return segment.ports != 1 && is_port(fabric, resource) ? rate * segment.ports : rate;
}

std::string group_name(const LinkGroup& group, const Communicator& comm, const Fabric* fabric, const Router* router) {
  if (group.inside)
    return fmt::format("node{}.{}", comm.host(group.node),
                       comm.node.graph.link_name(static_cast<std::uint16_t>(group.resource)));
  return resource_name(*fabric, *router, group.resource);
}

}  // namespace fabricast
