// The planner: what NCCL runs for a call, given a node, a cluster and an environment.
//
// A Planner is made once per communicator: NCCL's search for channels and its cost table. Each call then gets a Plan:
// algorithm, protocol, channels, threads and chunk sizes. Sizes are counted as in nccl-tests. docs/models/planner.md
// describes the rules.
//
// Const functions of a planner are safe to call concurrently.
#pragma once

#include "fabricast/planner/cost_model.hpp"
#include "fabricast/planner/ofi_plugin.hpp"
#include "fabricast/planner/search.hpp"

namespace fabricast {

/// Everything that plans of a communicator depend on. A plain value.
struct Planner {
  Communicator comm;
  NcclSettings settings;
  Buffers buffers = Buffers::plain;
  OfiPlatform ofi = OfiPlatform::none;
  SearchGraphs graphs;
  CostTable costs;
  CostTable default_costs;  ///< the same without NCCL_ALGO and NCCL_PROTO
};

/// Makes the planner of a communicator.
/// \param placement  position on the fabric of each host of the job; `hosts_per_node` hosts form an NCCL node
/// \throws UserError if the cluster has fewer than two ranks, or several nodes without NICs
Planner make_planner(Node node, std::vector<std::uint32_t> placement, std::uint32_t hosts_per_node,
                     NcclSettings settings);

/// Sets the aggregation that the fabric offers (sharp.hpp). Without any, CollNet algorithms are not chosen.
void use_sharp(Planner& planner, SharpService sharp);

/// Whether this combination has a schedule, so that the engines can simulate it.
bool is_simulated(const Communicator& comm, CollectiveOp op, Algorithm algorithm, Protocol protocol);

/// NCCL's plan for a call. In this order: an algorithm that NCCL runs without its cost model
/// (CollectiveAlgorithm::take), a kernel for symmetric memory, the choice of the OFI plugin's tuner, the best algorithm
/// by NCCL's estimate. If NCCL would choose an algorithm without a schedule, the best of the others replaces it
/// (Plan::stands_in).
/// \throws UserError if no algorithm supports the operation
Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes);
/// The plan for a given algorithm and protocol, independent of NCCL's choice.
/// \param channels  limit on the channels, as a tuner plugin may set; by default NCCL's number for the call
Plan plan_collective(const Planner& planner, CollectiveOp op, std::int64_t bytes, Algorithm algorithm,
                     Protocol protocol, std::optional<int> channels = std::nullopt);

}  // namespace fabricast
