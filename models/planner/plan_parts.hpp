// Plans of the families of algorithms, behind plan_collective.
#pragma once

#include "fabricast/planner/planner.hpp"

namespace fabricast {

/// Sends and receives. \pre is_point_to_point(op)
Plan plan_peers(const Planner& planner, CollectiveOp op, std::int64_t bytes);

}  // namespace fabricast
