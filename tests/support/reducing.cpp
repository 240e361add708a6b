#include "support/reducing.hpp"

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/prove.hpp"
#include "support/fabrics.hpp"

namespace fabricast::test {

NodeSpec node_of(int gpus, int nics) {
  NodeSpec spec = with_nics(with_gpus(preset_spec("hgx-h100"), gpus), nics, 400);
  if (gpus == 1) spec.intranode = Intranode::none;
  return spec;
}

Planner reducing_planner(const NodeSpec& spec, std::uint32_t nodes, Variables variables, const SharpSpec& sharp) {
  variables.emplace("NCCL_COLLNET_ENABLE", "1");
  Planner planner = planner_of(spec, nodes, variables);
  const Node& node = planner.comm.node;
  FabricDemand demand = demand_of(nodes, static_cast<std::uint32_t>(node.fabric_ports));
  demand.kind = node.spec.nics.link, demand.port_rate = node.nic_line_rate;
  const Fabric fabric = fabric_of("leaf_spine", demand, {{"switch.ports", "1024"}, {"spines", "1"}});
  use_sharp(planner, sharp_service(sharp, planner.comm, &fabric));
  return planner;
}

std::string proof_of(const Planner& planner, CollectiveOp op, Algorithm algorithm, Protocol protocol,
                     std::int64_t bytes) {
  if (!can_run(*find_by_algorithm(algorithm), planner.comm, op, protocol)) return "cannot run";
  const Plan plan = plan_collective(planner, op, bytes, algorithm, protocol);
  return schedule_fault(planner.comm, plan).value_or("right");
}

}  // namespace fabricast::test
