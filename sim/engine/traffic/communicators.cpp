// Planners by shape, and the settings of a scenario that steps do not support (communicators.hpp).
//
// Each communicator has its own range of queue pair numbers: 1,024 for each queue pair of a connection, of which a
// channel uses eight (edge_sets.cpp). ECMP therefore hashes the same pair of NICs differently for different groups.
#include "communicators.hpp"

#include <algorithm>

#include "fabricast/planner/node_use.hpp"
#include "fabricast/planner/search.hpp"
#include "fabricast/planner/sharp.hpp"

namespace fabricast {

namespace {

/// Queue pair numbers of a communicator at a NIC, for each queue pair of a connection.
constexpr std::uint32_t qps_of_communicator = 1024;

NodeUse use_of(const Scenario& s, const NcclSettings& settings) {
  NodeUse use;
  if (tells_peer_levels(s, settings)) use.peer_levels = peer_levels(settings, s.node.spec.cpu);
  return use;
}

/// \throws UserError for settings that single collectives support and steps do not
void check_settings(const World& world) {
  const Scenario& s = world.scenario();
  // The times of a fault count from the start of each collective, but a step is timed on one state of the network.
  if (world.setup().segments.size() > 1)
    throw UserError::at("faults",
                        "a fault begins or ends during the step, but steps are timed on one state of the network",
                        "remove `at` and `until`");
  if (s.nccl.selection == Selection::best)
    throw UserError::at("nccl.selection", "steps use the algorithm that NCCL chooses",
                        "use selection: nccl, and NCCL_ALGO in nccl.env to force an algorithm");
  if (s.network.engine != EngineKind::flow)
    throw UserError::at("network.engine", "steps are forecast with the flow engine only", "use engine: flow");
  if (!nccl_versions(s).known())
    throw UserError::at("nccl.version", "steps need a single version of NCCL", "e.g. version: 2.28");
}

/// The rail-th NIC of each GPU: its own, then the others by distance.
std::vector<int> nics_of_rail(const Communicator& comm, int rail) {
  std::vector<int> nics = comm.nic_of_gpu;
  for (std::size_t g = 0; g < nics.size() && rail > 0; ++g) {
    std::vector<int> others = comm.node.graph.nics_by_distance(static_cast<int>(g));
    std::erase(others, nics[g]);
    if (!others.empty()) nics[g] = others[static_cast<std::size_t>(rail - 1) % others.size()];
  }
  return nics;
}

}  // namespace

Communicators::Communicators(const World& world) : world_(world) { check_settings(world); }

Planner& Communicators::of(const TeamShape& shape, const Team& team, std::uint32_t number,
                           const CollectiveKind::Direct& direct) {
  const Communicator& all = world_.planner().comm;
  std::unique_ptr<Planner>& planner = planners_[{shape, direct.rail}];
  const bool fresh = !planner, whole = static_cast<int>(shape.gpus.size()) == all.gpus() && shape.nodes == all.nodes();
  // A team of all GPUs of all nodes uses the job's own planner, so that its time equals that of `fabricast run`.
  if (!planner && whole) {
    planner = std::make_unique<Planner>(world_.planner());
  } else if (!planner) {
    NcclSettings settings = world_.planner().settings;
    // A graph file describes the whole node.
    if (static_cast<int>(shape.gpus.size()) < all.gpus()) settings.given_graphs.reset();
    planner = std::make_unique<Planner>(
        make_planner(restricted_to(all.node, shape.gpus, use_of(world_.scenario(), settings)), team.placement,
                     static_cast<std::uint32_t>(team.placement.size() / shape.nodes), settings));
    planner->buffers = world_.planner().buffers;
  }
  Communicator& comm = planner->comm;
  if (fresh && direct.is_on()) {
    comm.nic_of_gpu = nics_of_rail(comm, direct.rail);
    comm.pxn = comm.p2p_pxn = false;
  }
  // SHARP's trees depend on the place of the team, so they are found for each team.
  comm.placement = team.placement;
  comm.first_qp = number * qps_of_communicator;
  if (shape.nodes > 1 && uses_collnet(comm.node, shape.nodes, planner->settings))
    use_sharp(*planner, sharp_service(world_.scenario().sharp, comm, world_.fabric()));
  return *planner;
}

Plan Communicators::plan(const Planner& planner, const CollectiveKind& kind) const {
  falls_back(world_.scenario(), planner, kind.op);
  Plan plan = plan_collective(planner, kind.op, kind.bytes);
  plan.one_way = kind.one_way;
  return plan;
}

NetworkSetup Communicators::setup(const Planner& planner, const CollectiveKind& kind) const {
  NetworkSetup setup = world_.setup();
  setup.comm = &planner.comm;
  setup.counts = nullptr;  // these belong to the communicator of the whole job
  // The rate of NIC ports depends on the operation, and the fabric was built for the operation of the workload.
  const double peers = planner.comm.node.network.peer_efficiency.value;
  const auto reach = [&](CollectiveOp o) { return is_point_to_point(o) ? peers : 1; };
  double& ports = setup.segments.front().ports;
  // What lost packets leave of it stays (World).
  ports /= reach(world_.scenario().workload.collective);
  // NICs that write from memory to memory send at line rate. NCCL's connections reach a fraction of it.
  const Node& node = planner.comm.node;
  if (kind.direct.is_on())
    ports *= node.nic_line_rate.value * node.header_efficiency /
             node.nic_rate(world_.planner().comm.gdr && world_.planner().comm.gdr_read).value;
  else
    ports *= reach(kind.op);
  return setup;
}

bool Communicators::is_faulty(const Team& team) const {
  const auto& inside = world_.setup().segments.front().inside;
  return std::any_of(inside.begin(), inside.end(), [&](const auto& fault) {
    return std::find(team.placement.begin(), team.placement.end(), fault.node) != team.placement.end();
  });
}

}  // namespace fabricast
