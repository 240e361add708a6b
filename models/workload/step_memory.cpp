#include "fabricast/workload/step_memory.hpp"

namespace fabricast {

MemoryQuestion memory_question(const TrainingStep& step, int nvlink_ranks) {
  MemoryQuestion q;
  q.layout = step.layout;
  q.precision = step.precision;
  q.sequence = step.model.sequence;
  q.sequence_parallel = step.sequence_parallel;
  q.mtp_layers = step.mtp_layers;
  q.micro_batch = step.micro_batch, q.micro_batches = step.micro_batches();
  q.zero = step.zero, q.recompute = step.recompute;
  q.schedule = step.schedule, q.interleave = step.interleave, q.layers = step.layers;
  // Products that add to what is there add to 32 bits, and shards of ZeRO 3 are in 32 bits; else gradients are as they
  // are reduced. Nemo's products add to the buffer that is reduced.
  const bool added_in_32_bits = step.stack.fused_accumulation && step.stack.framework != Framework::nemo;
  q.gradient_bytes = added_in_32_bits || step.zero == 3 ? 4 : step.stack.gradient_bytes;
  q.fused_attention = step.stack.fused_attention;
  q.fused_loss = step.stack.fused_loss;
  q.dropout = !step.stack.fused_attention;  // went out of use as fused attention came in
  // Products keep what they read as they read it.
  if (step.precision == Precision::fp8 || step.precision == Precision::fp4)
    q.input_bytes = operand_bytes_of(step.precision);
  q.offloaded = step.offloaded;
  q.nvlink_ranks = nvlink_ranks;
  return q;
}

}  // namespace fabricast
