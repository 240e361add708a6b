#include "loads.hpp"

#include <fmt/format.h>

#include "network_counter.hpp"

namespace fabricast {

std::uint32_t queue_pair(int channel, std::size_t edge, std::uint32_t pair, std::uint32_t per_connection) {
  return (static_cast<std::uint32_t>(channel) * 8 + static_cast<std::uint32_t>(edge % 2) * 4) * per_connection + pair;
}

Loads count_loads(const Communicator& comm, const Plan& plan, const Fabric* fabric, const Router* router,
                  const NetworkSegment& segment) {
  Loads loads;
  loads.inside.resize(static_cast<std::size_t>(plan.channels));
  loads.blocked.assign(loads.inside.size(), false);
  count_inside(comm, plan, segment, loads);
  if (comm.nodes() > 1) {
    loads.network = std::make_shared<NetworkCounter>(comm, plan, *fabric, *router, segment);
    loads.network->count(loads);
  }
  return loads;
}

const EdgeGroups& Loads::edges(int channel) const {
  static const EdgeGroups none;
  return network ? network->edges(static_cast<std::uint32_t>(channel)) : none;
}

bool Loads::uses(LinkId link) const { return network && network->uses(link); }

std::string group_name(const LinkGroup& group, const Communicator& comm, const Fabric* fabric, const Router* router) {
  if (group.inside)
    return fmt::format("node{}.{}", comm.placement[group.node * comm.hosts_per_node],
                       comm.node.graph.link_name(static_cast<std::uint16_t>(group.resource)));
  return resource_name(*fabric, *router, group.resource);
}

}  // namespace fabricast
