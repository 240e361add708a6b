#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "embedded_models.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/workload/serving_stack.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

ServingStack read_stack(const std::string& name, const json& j) {
  ServingStack s;
  s.name = name, s.summary = j.at("summary"), s.source = j.at("source"), s.year = j.at("year");
  const auto framework = enum_from<Framework>(j.at("framework").get<std::string>());
  if (!framework) throw InternalError("serving.json: " + name + ": framework");
  s.framework = *framework;
  s.tokens = j.at("tokens"), s.attention_kernels = j.at("attention_kernels"), s.ffn_kernels = j.at("ffn_kernels");
  s.expert_kernels = j.at("expert_kernels"), s.cast_kernels = j.at("cast_kernels");
  s.sampling_kernels = j.at("sampling_kernels");
  s.outside = j.at("outside"), s.attention = j.at("attention"), s.ffn = j.at("ffn"), s.gated_ffn = j.at("gated_ffn");
  s.cast = j.at("cast"), s.logit = j.at("logit");
  for (const ParameterRef& ref : parameters(s)) {
    const json& value = j.at(std::string(ref.name));
    Parameter& p = *ref.parameter;
    value.at("value").get_to(p.value), value.at("low").get_to(p.low), value.at("high").get_to(p.high);
    value.at("source").get_to(p.source);
  }
  return s;
}

}  // namespace

std::vector<ParameterRef> parameters(ServingStack& s) {
  return {{"gemm", "", "rate of products, relative to the GPU's", &s.gemm},
          {"attention_rate", "", "rate of attention, relative to the GPU's", &s.attention_rate},
          {"kernel_launch", "us", "of the host per kernel, without CUDA graphs", &s.kernel_launch},
          {"collective", "us", "that a collective takes beside its exchange and launch", &s.collective},
          {"step_fixed", "us", "of the host per pass: schedule, inputs, what comes out", &s.step_fixed},
          {"sequence_fixed", "us", "of the host per pass and sequence", &s.sequence_fixed},
          {"interference", "", "part of its speed that computation loses to a collective beside it", &s.interference},
          {"memory", "", "part of a GPU's memory that is used", &s.memory, true}};
}

const std::map<std::string, ServingStack, std::less<>>& serving_stacks() {
  static const std::map<std::string, ServingStack, std::less<>> stacks = [] {
    std::map<std::string, ServingStack, std::less<>> all;
    const json file = json::parse(embedded_models("serving.json"));
    for (const auto& [name, j] : file.items()) all[name] = read_stack(name, j);
    return all;
  }();
  return stacks;
}

const ServingStack& find_serving_stack(Framework framework, const std::string& name) {
  const auto& stacks = serving_stacks();
  if (!name.empty()) {
    const auto it = stacks.find(name);
    if (it != stacks.end()) return it->second;
    std::vector<std::string_view> known;
    for (const auto& [known_name, stack] : stacks) known.push_back(known_name);
    throw UserError::at("workload.stack", fmt::format("unknown software generation '{}'", name),
                        suggestion(name, known));
  }
  const ServingStack* newest = nullptr;
  for (const auto& [stack_name, stack] : stacks)
    if (stack.framework == framework && (!newest || stack.year >= newest->year)) newest = &stack;
  if (!newest)
    throw UserError::at("workload.framework", fmt::format("{} does not serve", name_of(framework)),
                        "vllm or tensorrt_llm");
  return *newest;
}

}  // namespace fabricast
