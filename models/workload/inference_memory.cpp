// How much of a GPU's memory serving uses, and how many sequences fit in it.
#include <algorithm>
#include <cmath>

#include "fabricast/workload/inference_spec.hpp"

namespace fabricast {

namespace {

MemoryUse of_one_sequence(const InferenceStep& step, const NodeSpec& node) {
  return peak_memory(step.model, memory_question(step, 1, node.gpus));
}

/// Bytes that the engine uses by default.
double usual_capacity(const InferenceStep& step, const NodeSpec& node, const MemoryUse& one) {
  const auto all = static_cast<double>(node.memory.value);
  // vLLM and SGLang take a fraction of the GPU's memory for everything. TensorRT-LLM and TurboMind take it of what
  // weights and workspace leave, for the cache alone.
  const double taken = step.stack.memory_of_free ? std::min(all, one.total() - one.cache) : 0;
  return taken + (all - taken) * step.stack.memory.value;
}

}  // namespace

bool needs_more_memory(const InferenceStep& step, const NodeSpec& node) {
  const MemoryUse one = of_one_sequence(step, node);
  return one.total() > usual_capacity(step, node, one);
}

Bytes memory_capacity(const InferenceStep& step, const NodeSpec& node) {
  const MemoryUse one = of_one_sequence(step, node);
  const double usual = usual_capacity(step, node, one);
  // If not even one sequence fits in the default fraction, the engine is assumed to be configured to use all memory.
  // memory_faults reports this as near the limit.
  return one.total() > usual ? node.memory : Bytes{static_cast<std::int64_t>(usual)};
}

int largest_batch(const InferenceStep& step, const NodeSpec& node) {
  const double capacity = static_cast<double>(memory_capacity(step, node).value);
  const auto fits = [&](int batch) {
    return peak_memory(step.model, memory_question(step, batch, node.gpus)).total() <= capacity;
  };
  // Memory grows with the batch, so bisection finds the largest one that fits.
  int fitting = 1, first_too_large = most_served_sequences + 1;
  while (first_too_large - fitting > 1) {
    const int middle = fitting + (first_too_large - fitting) / 2;
    (fits(middle) ? fitting : first_too_large) = middle;
  }
  return fitting;
}

std::int64_t cache_tokens(const InferenceStep& step, const NodeSpec& node) {
  // In tokens, since requests of a load differ in length.
  return largest_batch(step, node) * (step.input + step.output);
}

std::vector<Diagnostic> memory_faults(const InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node,
                                      int nvlink_nodes) {
  std::vector<Diagnostic> faults;
  const auto check = [&](const InferenceStep& step, int batch) {
    const int nvlink_ranks = node.gpus * std::max(1, nvlink_nodes);
    const double usual = usual_capacity(step, node, of_one_sequence(step, node));
    const double tolerated = static_cast<double>(memory_capacity(step, node).value) / usual;
    const MemoryQuestion question = memory_question(step, batch, nvlink_ranks);
    if (auto fault = memory_fault(step.model, question, Bytes{std::llround(usual)}, tolerated))
      faults.push_back(std::move(*fault));
  };
  // With a queue of requests, those that do not fit together with others wait.
  const bool queues = spec.phase == InferencePhase::both;
  check(inference_step(spec, node, nvlink_nodes, hardware), queues ? 1 : spec.batch);
  if (spec.disaggregated.prefill.gpus > 0) check(prefill_step(spec, node, nvlink_nodes, hardware), 1);
  return faults;
}

}  // namespace fabricast
