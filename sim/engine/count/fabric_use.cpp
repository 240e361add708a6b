// How often a group's connections cross the fabric's links, and the fraction of their rates that they use:
//
//   use(l, c) = m_lc w / C_l        fraction of the rate of link l per B/s of payload of a connection of c          (1)
//
// with m_lc of fabric_count.hpp, w bytes on the wire per byte of payload, and C_l in B/s. The three are given
// separately, because m holds for any hardware, and w and C do not. m is given by kind of links that are alike to the
// group, because links may be millions and kinds are few.
#include "contended.hpp"
#include "count_store.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/protocol/costs.hpp"
#include "loads.hpp"

namespace fabricast {

namespace {

/// The flow engine lets a connection wait for the end of a fault. Here one state of the network holds forever.
void require_paths(const FabricCount& count) {
  for (const bool blocked : count.blocked())
    if (blocked) throw UserError::at("faults", "the fabric is temporarily cut: connections of a group have no path");
}

}  // namespace

FabricConnections::FabricConnections(const NetworkSetup& setup, const Router& router, const Plan& plan,
                                     std::shared_ptr<const SharedCount> crossed)
    : crossed_(std::move(crossed)), first_{0} {
  // Usually the engine that timed the group has counted it. Then nothing is routed again.
  if (!crossed_) {
    const Plan streams = plan_of_streams(plan);
    crossed_ = count_alone({*setup.comm, streams, *setup.fabric, router, setup.segments.front(),
                            protocol_costs(*setup.comm, streams).tree_weight, setup.threads});
  }
  const FabricCount& count = crossed_->count();
  require_paths(count);
  const std::vector<bool> contended = contended_groups(count, plan, *setup.fabric, router, setup.segments.front());
  for (const FabricCount::Group& group : count.groups()) {
    const auto connections = count.connections(group);
    for (std::uint32_t c = 0; c < connections.size(); ++c)
      if (connections[c] > 0) all_.push_back({c, connections[c]});
    first_.push_back(static_cast<std::uint32_t>(all_.size()));
    links_.push_back({group.resource, group.kind, contended[links_.size()]});
  }
}

void FabricConnections::for_each(const std::function<void(std::uint32_t, std::uint32_t)>& use) const {
  crossed_->count().for_each(use);
}

double wire_bytes(const NetworkSetup& setup, const Plan& plan) {
  return protocol_costs(*setup.comm, plan_of_streams(plan)).wire;
}

bool between_switches(const Fabric& fabric, std::uint32_t resource) { return !is_port(fabric, resource); }

void add_paths(const NetworkSetup& setup, const Router& router, const Plan& asked, std::uint32_t first_item,
               std::vector<Background::FlowPath>& paths) {
  const Plan plan = plan_of_streams(asked);
  if (!find_by_algorithm(plan.algorithm)->network_edges || setup.comm->nodes() == 1) return;
  const double wire = protocol_costs(*setup.comm, plan).wire;
  const double parts = setup.comm->qps_per_connection * message_weight_of(plan);
  Path path;
  for (std::uint32_t channel = 0; channel < static_cast<std::uint32_t>(plan.channels); ++channel)
    for_each_queue_pair(*setup.comm, plan, *setup.fabric, channel, [&](const NetworkEdge& edge, const Flow& flow) {
      if (!router.route(flow, path)) throw_cut(*setup.fabric, setup.segments.front(), flow);
      paths.push_back({first_item + channel, wire * edge.weight / parts, path.resources});
    });
}

BytesPerSecond resource_rate(const NetworkSetup& setup, const Router& router, std::uint32_t resource) {
  return BytesPerSecond{rate_of(*setup.fabric, router, setup.segments.front(), resource)};
}

}  // namespace fabricast
