#include "fabricast/scenario/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "fabricast/core/rng.hpp"
#include "fabricast/planner/graph_file.hpp"

namespace fabricast {

namespace {

std::vector<std::uint32_t> place(const ClusterSpec& cluster) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(cluster.size));
  std::iota(order.begin(), order.end(), 0U);
  if (cluster.placement == Placement::random) {
    Rng rng(static_cast<std::uint64_t>(cluster.seed));
    shuffle(order, rng);
  }
  if (cluster.placement == Placement::list) order.assign(cluster.order.begin(), cluster.order.end());
  order.resize(static_cast<std::size_t>(cluster.nodes));
  return order;
}

}  // namespace

std::unique_ptr<World> build_world(Scenario scenario) {
  auto world = std::make_unique<World>();
  world->scenario = std::move(scenario);
  const Scenario& s = world->scenario;
  const int hosts = std::min(s.nvlink_domain.nodes, s.cluster.nodes);
  const NcclVersion version = parse_nccl_version(s.nccl.version).value_or(NcclVersion{});
  Node node = build_node(s.node.spec, s.hardware, hosts);
  NcclSettings settings = parse_nccl_environment(version, s.nccl.env, world->warnings);
  settings.given_graphs = s.nccl.graphs;
  if (s.nccl.graphs) check_graphs(*s.nccl.graphs, node, s.cluster.nodes > hosts);
  world->planner =
      make_planner(std::move(node), place(s.cluster), static_cast<std::uint32_t>(hosts), std::move(settings));
  const Communicator& comm = world->planner.comm;
  const auto op = static_cast<std::size_t>(s.workload.collective);
  if (op < 5 && world->planner.costs.fell_back[op])
    world->warnings.push_back({Diagnostic::Severity::warning,
                               {},
                               "nccl.env",
                               "NCCL_ALGO and NCCL_PROTO leave no algorithm that works here",
                               "NCCL's default choice is forecast"});

  world->setup.comm = &comm;
  std::vector<Fault> faults;
  if (comm.nodes() > 1 || !s.faults.empty()) {
    FabricDemand demand;
    demand.nodes = static_cast<std::uint32_t>(s.cluster.size);
    demand.ports_per_node = static_cast<std::uint32_t>(std::max(1, comm.node.nics / hosts));
    demand.kind = s.node.spec.nics.link;
    demand.port_rate = comm.node.nic_line_rate;
    demand.header_efficiency = comm.node.header_efficiency;
    demand.nic_efficiency = comm.node.nic_rate(comm.gdr).value / (demand.port_rate.value * demand.header_efficiency);
    world->fabric = std::make_unique<Fabric>(topologies()[s.fabric.kind].build(s.fabric.spec, demand));
    for (std::size_t i = 0; i < s.faults.size(); ++i) {
      const FaultSpec& f = s.faults[i];
      Fault fault;
      fault.target = f.link, fault.rate = f.rate.value, fault.begin = f.at.value;
      if (f.until.value > 0) fault.end = f.until.value;
      resolve_fault(fault, i, *world->fabric, comm.node.graph);
      faults.push_back(std::move(fault));
    }
  }
  world->setup.fabric = world->fabric.get();
  world->setup.policy = &routing_policies()[s.routing.kind];
  world->setup.policy_spec = &world->scenario.routing.spec;
  world->setup.segments = segments(faults);
  world->draws = comm.nodes() > 1 ? world->setup.policy->draws(s.routing.spec) : Draws{};
  return world;
}

}  // namespace fabricast
