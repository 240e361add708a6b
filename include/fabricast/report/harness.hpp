// What the benchmark tool makes of a size and of a call: nccl-tests, PyTorch, or a host that times each call.
//
// Tools round sizes, overlap calls that are issued back to back, and add their own cost to each call
// (docs/models/harness.md). The tool `isolated` adds nothing: one call takes launch + makespan.
//
// Sizes are in bytes. Pure functions; safe to call concurrently.
// Not modelled: CUDA graphs, several communicators, and differences between in-place and out-of-place calls.
#pragma once

#include "fabricast/engine/engine.hpp"
#include "fabricast/planner/planner.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// The bytes that the tool passes to NCCL when it is given a size. Where a buffer has a share for each rank, nccl-tests
/// rounds the share down to whole 16 B [nccl-tests-parts]. Sizes that are whole elements for each rank are not rounded,
/// because older versions printed them. The other tools do not round.
std::int64_t harness_bytes(const HarnessSpec& harness, CollectiveOp op, std::int64_t ranks, std::int64_t asked);

/// Whether the tool calls NCCL at all for a size: nccl-tests rounds small shares down to nothing [nccl-tests-parts].
bool harness_calls(const HarnessSpec& harness, CollectiveOp op, std::int64_t ranks, std::int64_t asked);

/// The time that the tool prints for a call.
/// \param result  of the engine, for one isolated call of `plan`
Seconds harness_time(const HarnessSpec& harness, const Communicator& comm, const Plan& plan,
                     const CollectiveResult& result);

}  // namespace fabricast
