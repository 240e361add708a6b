// What serving holds in a GPU's memory, and how many sequences that leaves room for.
#include <algorithm>

#include "fabricast/workload/inference_spec.hpp"

namespace fabricast {

namespace {

Bytes capacity_of(const InferenceStep& step, const NodeSpec& node) {
  return Bytes{static_cast<std::int64_t>(static_cast<double>(node.memory.value) * step.stack.memory.value)};
}

}  // namespace

int largest_batch(const InferenceStep& step, const NodeSpec& node) {
  const double capacity = static_cast<double>(capacity_of(step, node).value);
  const auto fits = [&](int batch) {
    return peak_memory(step.model, memory_question(step, batch, node.gpus)).total() <= capacity;
  };
  // Memory grows with the batch: the last one that fits is found by halving.
  int fitting = 1, first_too_large = most_served_sequences + 1;
  while (first_too_large - fitting > 1) {
    const int middle = fitting + (first_too_large - fitting) / 2;
    (fits(middle) ? fitting : first_too_large) = middle;
  }
  return fitting;
}

std::vector<Diagnostic> memory_faults(const InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node,
                                      int nvlink_nodes) {
  std::vector<Diagnostic> faults;
  const auto check = [&](const InferenceStep& step, int batch) {
    const int nvlink_ranks = node.gpus * std::max(1, nvlink_nodes);
    if (auto fault = memory_fault(step.model, memory_question(step, batch, nvlink_ranks), capacity_of(step, node)))
      faults.push_back(std::move(*fault));
  };
  check(inference_step(spec, node, hardware), spec.batch);
  if (spec.disaggregated.prefill.gpus > 0) check(prefill_step(spec, node, hardware), 1);
  return faults;
}

}  // namespace fabricast
