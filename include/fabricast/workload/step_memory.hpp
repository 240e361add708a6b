// The memory of a training step, in the terms of memory.hpp. A pure function; safe to call concurrently.
#pragma once

#include "fabricast/workload/memory.hpp"
#include "fabricast/workload/training.hpp"

namespace fabricast {

/// What the memory of the step depends on, including what follows from its framework: the precision of accumulated
/// gradients, fused attention and loss, and dropout.
/// \param nvlink_ranks  GPUs that share NVLink, the upper limit of tensor parallelism in proposals
MemoryQuestion memory_question(const TrainingStep& step, int nvlink_ranks);

/// Bytes of each element of the buffer in which gradients are kept until their reduction, which is also what GEMMs with
/// fused accumulation read and write.
int held_gradient_bytes(const TrainingStep& step);

}  // namespace fabricast
