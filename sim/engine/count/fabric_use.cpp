// How often a group's connections cross the fabric's links, and what they take of these.
#include "count_store.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/protocol/costs.hpp"
#include "loads.hpp"

namespace fabricast {

namespace {

void require_paths(const FabricCount& count) {
  for (const bool blocked : count.blocked())
    if (blocked) throw UserError::at("faults", "the fabric is cut for a while: connections of a group have no path");
}

Plan streams_of(Plan plan) {
  if (find_by_algorithm(plan.algorithm)->one_stream) plan.channels = 1;
  return plan;
}

}  // namespace

FabricConnections::FabricConnections(const NetworkSetup& setup, const Router& router, const Plan& plan,
                                     std::shared_ptr<const SharedCount> crossed)
    : crossed_(std::move(crossed)), first_{0} {
  if (!crossed_) {
    const Plan streams = streams_of(plan);
    crossed_ = count_alone({*setup.comm, streams, *setup.fabric, router, setup.segments.front(),
                            protocol_costs(*setup.comm, streams).tree_weight, setup.threads});
  }
  const FabricCount& count = crossed_->count();
  require_paths(count);
  for (const FabricCount::Group& group : count.groups()) {
    const auto connections = count.connections(group);
    for (std::uint32_t c = 0; c < connections.size(); ++c)
      if (connections[c] > 0) all_.push_back({c, connections[c]});
    first_.push_back(static_cast<std::uint32_t>(all_.size()));
    links_.push_back({group.resource, group.kind});
  }
}

void FabricConnections::for_each(const std::function<void(std::uint32_t, std::uint32_t)>& use) const {
  crossed_->count().for_each(use);
}

double wire_bytes(const NetworkSetup& setup, const Plan& plan) {
  return protocol_costs(*setup.comm, streams_of(plan)).wire;
}

double resource_rate(const NetworkSetup& setup, const Router& router, std::uint32_t resource) {
  return rate_of(*setup.fabric, router, setup.segments.front(), resource);
}

}  // namespace fabricast
