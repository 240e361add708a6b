// Changes that `explain` tries on training and on inference steps alike: network, nodes, and other algorithms for one
// collective. The running of trials is the template run_trials in trials.hpp.
//
// settings.cpp has the same for single collectives. There a change concerns all sizes; here NCCL_ALGO and NCCL_PROTO
// are set for the operation that a step waits for.
#include "trials.hpp"

#include <fmt/format.h>

#include "../common/loss_trials.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

constexpr auto one = one_if<Trial>;

// Alternatives, of which the better is reported: both need switches and NICs that support them.
Alternatives routing(const World& world) {
  if (world.setup().paths() != PathKind::by_chance) return {};
  return {{"adaptive routing", {"routing={kind: adaptive}"}}, {"packet spraying", {"routing={kind: spray}"}}};
}

/// A value for this operation only, if NCCL supports lists by operation [NCCL-env].
std::string for_operation(const World& world, CollectiveOp op, std::string_view name) {
  if (world.planner().comm.version < NcclVersion{2, 24, 0}) return std::string(name);
  std::string function(name_of(op));
  std::erase(function, '_');
  return fmt::format("{}:{}", function, name);
}

/// Whether the choice for a collective is not forced by a variable already.
bool free_to_choose(const World& world, const CollectiveUse& use, const std::string& variable) {
  return !is_point_to_point(use.kind.op) && !world.scenario().nccl.env.contains(variable);
}

}  // namespace

const CollectiveUse* longest_collective(const std::vector<CollectiveUse>& collectives, Part part) {
  const CollectiveUse* longest = nullptr;
  for (const CollectiveUse& use : collectives)
    if (use.kind.part == part && (!longest || use.time > longest->time)) longest = &use;
  return longest;
}

double bus_rate(const Program& program, const CollectiveUse& use) {
  const RankGroups& groups = program.groups[use.kind.groups];
  return static_cast<double>(use.kind.bytes) / use.alone.makespan.value *
         bus_factor(use.kind.op, static_cast<std::int64_t>(groups.front().size()));
}

Alternatives other_algorithms(const World& world, const CollectiveUse& use) {
  Alternatives list;
  if (!free_to_choose(world, use, "NCCL_ALGO")) return list;
  // All algorithms; those that NCCL cannot run here are refused by its planner, and the trial is skipped.
  for (std::size_t a = 0; a < algorithm_count; ++a) {
    const std::string_view name = name_of(static_cast<Algorithm>(a));
    if (name == use.alone.algorithm) continue;
    list.push_back({fmt::format("{} by {}", name_of(use.kind.op), name),
                    {env_word("NCCL_ALGO", for_operation(world, use.kind.op, name))}});
  }
  return list;
}

Alternatives other_protocols(const World& world, const CollectiveUse& use) {
  Alternatives list;
  if (!free_to_choose(world, use, "NCCL_PROTO")) return list;
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    const std::string_view name = name_of(protocol);
    // A protocol that NCCL does not trust on this hardware must not be enabled.
    // NCCL's cost model gives a negative time to what it does not allow, e.g. LL128 on hardware where it is not safe
    // [NCCL-tuning-1.6].
    bool usable = false;
    for (std::size_t a = 0; a < algorithm_count; ++a)
      usable = usable || world.planner().default_costs.time(use.kind.op, static_cast<Algorithm>(a), protocol,
                                                            use.kind.bytes) >= 0;
    if (!usable || name == use.alone.protocol) continue;
    list.push_back({fmt::format("{} by {}", name_of(use.kind.op), name),
                    {env_word("NCCL_PROTO", for_operation(world, use.kind.op, name))}});
  }
  return list;
}

// Applied to the whole job, with all its collectives. "No oversubscription" is tried wherever there is a fabric: a
// fabric without it stays unchanged, and unchanged scenarios are not run.
std::vector<Alternatives> network_trials(const World& world) {
  const Scenario& s = world.scenario();
  const Communicator& comm = world.planner().comm;
  const NicSpec& nics = s.node.spec.nics;
  const bool networked = comm.nodes() > 1;
  const std::string twice = to_text(BytesPerSecond{2 * comm.node.nic_line_rate.value});
  std::vector<Alternatives> all{
      one(!s.faults.empty(), "no faults", {"faults=[]"}),
      one(networked && !comm.gdr, "GPUDirect RDMA", {"node.gdr=true"}),
      one(nics.numa != NicNuma::local, "NICs at their GPUs' socket", {"node.nics.numa=local"}),
      routing(world),
      no_drops(world),
      sound_cables(world),
      selective_repeat(world),
      any_order(world),
      one_path(world),
      shorter_timeout(world),
      one(world.fabric() != nullptr, "no oversubscription",
          {"fabric.oversubscription=1", "fabric.spine_oversubscription=1"}),
      one(world.fabric() && s.cluster.placement != Placement::in_order, "nodes placed in order",
          {"cluster.placement=in_order"}),
      one(networked && nics.link == LinkKind::infiniband && !world.planner().settings.collnet_enable,
          "reduction in the switches", {"nccl.env.NCCL_COLLNET_ENABLE=1"}),
      one(networked, "NICs and switches of twice the rate", {"node.nics.rate=" + twice, "fabric.switch.rate=" + twice}),
  };
  std::erase_if(all, [](const Alternatives& list) { return list.empty(); });
  return all;
}

}  // namespace fabricast
