// The router of a plan's traffic, for policies whose switches choose by load (Router::under_load).
#pragma once

#include <memory>

#include "fabricast/engine/network.hpp"

namespace fabricast {

/// The flows are those of all channels of the plan, as if all of them sent all the time. Null if the given router serves.
/// The result refers to the fabric and the segment.
std::unique_ptr<Router> router_under_load(const Communicator& comm, const Plan& plan, const Fabric& fabric,
                                          const Router& router, const NetworkSegment& segment);

}  // namespace fabricast
