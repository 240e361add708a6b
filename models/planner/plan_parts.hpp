// Plans of the families of algorithms, behind plan_collective.
#pragma once

#include "fabricast/planner/planner.hpp"

namespace fabricast {

/// Sends and receives. \pre is_point_to_point(op)
Plan plan_peers(const Planner& planner, CollectiveOp op, std::int64_t bytes);
/// A kernel on symmetric memory. \pre without_symmetric() is empty
Plan plan_symmetric(const Planner& planner, CollectiveOp op, std::int64_t bytes);
/// Fills in the chunk, its slices and the slots. \pre the plan's shares are
void choose_chunk(const Planner& planner, Plan& plan);
/// Whether NCCL works on the caller's buffers where it can; from which version on is the algorithm's matter.
bool works_in_place(const Planner& planner, NcclVersion since);

}  // namespace fabricast
