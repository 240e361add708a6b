// Steps of inference for tests, and what their programs contain.
#pragma once

#include "fabricast/hardware/hardware.hpp"
#include "fabricast/workload/inference.hpp"
#include "fabricast/workload/inference_spec.hpp"

namespace fabricast {

inline InferenceSpec spec_of(std::string_view preset, int tensor = 1) {
  InferenceSpec spec;
  spec.model = preset_model(preset);
  spec.parallel.tensor = tensor;
  spec.all_reduce = AllReduceBy::nccl;
  return spec;
}

inline NodeSpec node_of(std::string_view preset = "hgx-h100") { return default_node(shipped_hardware(), {}, preset); }

inline InferenceStep step_of(InferenceSpec spec, int nodes = 1, const NodeSpec& node = node_of()) {
  complete(spec, shipped_hardware(), node, nodes, 1);
  return inference_step(spec, node, 1, shipped_hardware());
}

/// Bytes of parameters on a GPU of a node of eight.
inline double held(const InferenceStep& step, int batch = 1) {
  return peak_memory(step.model, memory_question(step, batch, 8)).parameters;
}

inline double calls_of(const Program& program, CollectiveOp op, Part part) {
  double calls = 0;
  for (const Activity& a : program.activities)
    if (a.is_collective() && program.collectives[a.collective].op == op && a.part == part) calls += a.calls;
  return calls;
}

inline std::int64_t bytes_of_collective(const Program& program, CollectiveOp op) {
  for (const CollectiveKind& k : program.collectives)
    if (k.op == op) return k.bytes;
  return -1;
}

}  // namespace fabricast
