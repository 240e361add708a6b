// Clusters whose switches reduce, and nodes of any size, for the tests of all schedules.
#pragma once

#include "fabricast/planner/sharp.hpp"
#include "support/clusters.hpp"

namespace fabricast::test {

/// A node of H100s whose GPUs are joined as a user would.
NodeSpec node_of(int gpus, int nics);

/// As planner_of, on two leaves and a spine that offer aggregation trees, with CollNet switched on.
Planner reducing_planner(const NodeSpec& spec, std::uint32_t nodes, Variables variables = {},
                         const SharpSpec& sharp = {});

/// The prover's words on NCCL's plan for an algorithm; `right` if it finds no fault, `cannot run` if there is no such
/// schedule on these ranks.
std::string proof_of(const Planner& planner, CollectiveOp op, Algorithm algorithm, Protocol protocol,
                     std::int64_t bytes);

}  // namespace fabricast::test
