// The planner: what NCCL would run for a call, on a node, a cluster and an environment.
#pragma once

#include "fabricast/planner/cost_model.hpp"
#include "fabricast/planner/ofi_plugin.hpp"
#include "fabricast/planner/search.hpp"

namespace fabricast {

/// Everything a plan depends on, resolved once per communicator. A plain value.
struct Planner {
  Communicator comm;
  NcclSettings settings;
  Buffers buffers = Buffers::plain;
  OfiPlatform ofi = OfiPlatform::none;
  SearchGraphs graphs;
  CostTable costs;
  CostTable default_costs;  ///< without NCCL_ALGO and NCCL_PROTO
};

/// \param placement place on the fabric of each host of the job; `hosts_per_node` of them make a NCCL node
/// \param store  what NCCL's search has found in other scenarios; null: none
/// \throws UserError if the cluster has fewer than two ranks, or several nodes and no NIC.
Planner make_planner(Node node, std::vector<std::uint32_t> placement, std::uint32_t hosts_per_node,
                     NcclSettings settings, SearchStore* store = nullptr);

/// Says what aggregation the fabric offers (sharp.hpp); without any, CollNet algorithms are not chosen.
void use_sharp(Planner& planner, SharpService sharp, SearchStore* store = nullptr);

/// Whether there is a schedule.
bool is_simulated(const Communicator& comm, CollectiveOp op, Algorithm algorithm, Protocol protocol);

/// NCCL's plan: of what it runs without asking its cost model (CollectiveAlgorithm::take), else a kernel on symmetric
/// memory where there is one, else what the OFI plugin's tuner chooses, else the best algorithm by NCCL's estimate. Where
/// NCCL would choose an algorithm without schedule, the best of the others stands in.
/// \throws UserError if no algorithm serves the operation.
Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes);
/// The plan for a given algorithm and protocol, whatever NCCL would choose.
/// \param channels  at most so many, as a tuner plugin may ask; else as many as NCCL gives the call
Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes, Algorithm algorithm,
                     Protocol protocol, std::optional<int> channels = std::nullopt);

}  // namespace fabricast
