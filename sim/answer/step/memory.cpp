// Whether a step fits in the memory of its GPUs.
//
// The estimate of each part of the memory is models/workload (docs/models/transformer.md). Its uncertainty makes three
// verdicts: fits, near the limit, does not fit. Only the last is an error.
#include <algorithm>

#include "fabricast/report/step.hpp"
#include "fabricast/workload/step_memory.hpp"

namespace fabricast {

const MemoryUse& StepMemory::peak() const {
  return *std::max_element(stages.begin(), stages.end(),
                           [](const MemoryUse& a, const MemoryUse& b) { return a.total() < b.total(); });
}

MemoryFit StepMemory::fit() const {
  if (share() <= 1 - memory_uncertainty) return MemoryFit::fits;
  return share() <= 1 + memory_uncertainty ? MemoryFit::near_the_limit : MemoryFit::does_not_fit;
}

// A domain of several hosts is used as far as the job has hosts.
int nvlink_ranks(const Scenario& s) { return s.node.spec.gpus * std::min(s.nvlink_domain.nodes, s.cluster.nodes); }

// Stages differ: the first holds most activations in flight, the first and the last hold the vocabulary.
StepMemory memory_of_step(const TrainingStep& step, int nvlink_ranks) {
  const MemoryQuestion question = memory_question(step, nvlink_ranks);
  StepMemory memory;
  memory.capacity = step.kernels.memory;
  for (int s = 0; s < step.layout.pipeline; ++s) memory.stages.push_back(memory_of(step.model, question, s));
  return memory;
}

namespace {

std::vector<Diagnostic> memory_faults(const World& world) {
  const Scenario& s = world.scenario();
  // Engines size their cache to the memory, so for inference the question is whether weights and one sequence fit.
  if (s.workload.kind == WorkloadKind::inference)
    return memory_faults(s.workload.inference, s.hardware, s.node.spec, s.nvlink_domain.nodes);
  if (s.workload.kind != WorkloadKind::training_step || s.workload.training.memory == MemoryCheck::ignore) return {};
  const TrainingStep step = step_of(world);
  auto fault =
      memory_fault(step.model, memory_question(step, nvlink_ranks(s)), step.kernels.memory, 1 + memory_uncertainty);
  if (!fault) return {};
  fault->hint += "; or set workload.memory: ignore to forecast the step anyway";
  return {std::move(*fault)};
}

}  // namespace

void require_memory(const World& world) {
  if (auto faults = memory_faults(world); !faults.empty()) throw UserError(std::move(faults));
}

}  // namespace fabricast
