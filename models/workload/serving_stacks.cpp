#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/workload/inference_spec.hpp"

namespace fabricast {

ServingStack find_serving_stack(const Hardware& hardware, Framework framework, const std::string& name) {
  if (!name.empty()) {
    if (hardware.serving.contains(name)) return hardware.serving_stack(name);
    std::vector<std::string_view> known;
    for (const auto& [known_name, stack] : hardware.serving) known.push_back(known_name);
    throw UserError::at("workload.stack", fmt::format("unknown stack '{}'", name), suggestion(name, known));
  }
  // Without a name the newest release of the engine; of equal years the last by name.
  const ServingStack* newest = nullptr;
  for (const auto& [stack_name, stack] : hardware.serving)
    if (stack.framework == framework && (!newest || stack.year >= newest->year)) newest = &stack;
  if (!newest)
    throw UserError::at("workload.framework", fmt::format("{} is not a serving engine", name_of(framework)),
                        "use vllm, sglang or tensorrt_llm");
  return hardware.serving_stack(newest->name);
}

// SGLang since 0.4 and TensorRT-LLM with its PyTorch backend do so by default [SGLang-overlap] [TensorRT-LLM-overlap].
// vLLM does so by default since 0.14 only [VLLM-async]; its stacks stand for earlier releases.
bool plans_ahead(const ServingStack& stack) { return stack.framework != Framework::vllm && stack.year >= 2025; }

}  // namespace fabricast
