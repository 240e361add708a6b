// What the tool that times the calls makes of a size and of a call.
#pragma once

#include "fabricast/engine/engine.hpp"
#include "fabricast/planner/planner.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// The bytes that the tool passes to NCCL if asked for a size.
std::int64_t harness_bytes(const HarnessSpec& harness, CollectiveOp op, std::int64_t ranks, std::int64_t asked);

/// Whether it calls NCCL at all for a size: nccl-tests rounds small parts down to nothing [nccl-tests-parts].
bool harness_calls(const HarnessSpec& harness, CollectiveOp op, std::int64_t ranks, std::int64_t asked);

/// What the tool prints for a call that takes `result`.
double harness_time(const HarnessSpec& harness, const Communicator& comm, const Plan& plan,
                    const CollectiveResult& result);

}  // namespace fabricast
