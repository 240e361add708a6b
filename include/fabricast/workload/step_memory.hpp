// The memory that a training step takes, in the terms of memory.hpp.
#pragma once

#include "fabricast/workload/memory.hpp"
#include "fabricast/workload/training.hpp"

namespace fabricast {

/// \param nvlink_ranks  GPUs that share NVLink: tensor parallelism is not proposed beyond
MemoryQuestion memory_question(const TrainingStep& step, int nvlink_ranks);

}  // namespace fabricast
