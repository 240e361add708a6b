// The memory question of a training step: what memory.hpp needs to know of its settings and of its software.
#include "fabricast/workload/step_memory.hpp"

namespace fabricast {

MemoryQuestion memory_question(const TrainingStep& step, int nvlink_ranks) {
  MemoryQuestion q;
  q.layout = step.layout;
  q.precision = step.precision;
  q.sequence = step.model.sequence;
  q.sequence_parallel = step.sequence_parallel;
  q.mtp_layers = step.mtp_layers;
  q.micro_batch = step.micro_batch;
  q.micro_batches = step.micro_batches();
  q.zero = step.zero;
  q.recompute = step.recompute;
  q.schedule = step.schedule;
  q.interleave = step.interleave;
  q.layers = step.layers;
  q.gradient_bytes = held_gradient_bytes(step);
  q.fused_attention = step.stack.fused_attention;
  q.fused_loss = step.stack.fused_loss;
  q.planned = step.stack.plans_memory;
  q.dropout = !step.stack.fused_attention;  // stacks with fused attention train without dropout
  // GEMMs keep their inputs in the precision in which they read them.
  if (step.precision == Precision::fp8 || step.precision == Precision::fp4)
    q.input_bytes = stored_bytes_of(step.precision);
  q.offloaded = step.offloaded;
  q.nvlink_ranks = nvlink_ranks;
  return q;
}

// GEMMs with fused accumulation add to 32-bit gradients, and ZeRO 3 shards have 32 bits. Otherwise gradients have the
// precision of their reduction. NeMo's GEMMs add to the buffer that is reduced.
int held_gradient_bytes(const TrainingStep& step) {
  const bool added_in_32_bits = step.stack.fused_accumulation && step.stack.framework != Framework::nemo;
  return added_in_32_bits || step.zero == 3 ? 4 : step.stack.gradient_bytes;
}

}  // namespace fabricast
