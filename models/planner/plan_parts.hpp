// Plans of the families of algorithms, used by plan_collective.
#pragma once

#include "fabricast/planner/planner.hpp"

namespace fabricast {

/// The plan of sends and receives. \pre is_point_to_point(op)
Plan plan_peers(const Planner& planner, CollectiveOp op, std::int64_t bytes);
/// The plan of a kernel on symmetric memory. \pre without_symmetric() is empty
Plan plan_symmetric(const Planner& planner, CollectiveOp op, std::int64_t bytes);
/// Fills in chunk, slices and slots of a plan. \pre its shares are filled in
void choose_chunk(const Planner& planner, Plan& plan);
/// Whether NCCL works directly on the caller's buffers. \param since  first version in which the algorithm supports it
bool works_in_place(const Planner& planner, NcclVersion since);
/// Channels of NVLS and NVLSTree on registered buffers.
int registered_nvls_channels(const Planner& planner, CollectiveOp op);
/// NVLS in place of NCCL's choice, if NCCL_CTA_POLICY=EFFICIENCY makes it and it takes no more channels.
/// \pre `chosen` has its candidates
std::optional<Candidate> efficient_choice(const Planner& planner, CollectiveOp op, const Plan& chosen);

}  // namespace fabricast
