// Engines in published serving tables, and the stacks that they are nearest to.
//
// A new engine or release is a line; the first that fits counts. `exact` only where the stack's parameters are of that very
// release. Names of `fabricast list stacks` do without.
#include <algorithm>
#include <array>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/serving_stack.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

namespace {

struct Engine {
  std::string_view name, version;  ///< what the row's begin with
  std::string_view stack;
  bool exact;
  bool graphs;          ///< decode passes are CUDA graphs
  bool own_reductions;  ///< it all-reduces inside a node by kernels of its own
  bool mixed;           ///< prompts go into the passes of decoding
};

// FasterTransformer and TurboMind launch kernel by kernel: no CUDA graph of GPT is in their source [FasterTransformer].
// vLLM since V1 mixes prompts into passes that decode [VLLM-tuning].
constexpr std::array<Engine, 6> engines{{
    {"vllm", "0.6", "vllm-0.6", true, true, true, false},
    {"vllm", "0.5", "vllm-0.6", false, true, true, false},
    {"vllm", "", "vllm-0.6", false, true, true, true},
    {"sglang", "", "vllm-0.6", false, true, true, false},
    {"trtllm", "", "tensorrt-llm-0.15", false, true, true, true},
    {"other", "FasterTransformer", "tensorrt-llm-0.15", false, false, false, false},
}};
constexpr Engine turbomind{"other", "lmdeploy", "tensorrt-llm-0.15", false, false, false, true};

const Engine* find_engine(const ServingRow& row) {
  for (const Engine& e : engines)
    if (row.engine == e.name && row.version.starts_with(e.version)) return &e;
  return row.engine == turbomind.name && row.version.starts_with(turbomind.version) ? &turbomind : nullptr;
}

}  // namespace

void say_engine(Json& workload, const ServingRow& row, MappedServing& mapped) {
  const Engine* engine = find_engine(row);
  const auto& stacks = serving_stacks();
  const auto named = stacks.find(engine ? std::string(engine->stack) : row.engine);
  if (named == stacks.end()) return miss(mapped, "workload.stack: the engine '" + row.engine + "' is not known");
  workload["framework"] = name_of(named->second.framework);
  workload["stack"] = named->first;
  if (!engine) return;
  if (!engine->exact) {
    const bool stated = !row.version.empty() && row.version != "?";
    mapped.assumed.push_back({"workload.stack", named->first,
                              "nearest to " + (engine->name == "other" ? "" : row.engine + " ") +
                                  (stated ? row.version : "of a release that is not stated")});
  }
  if (!engine->graphs) {
    workload["launch"] = "eager";
    mapped.assumed.push_back({"workload.launch", "eager", "its source has no CUDA graphs of decoding"});
  }
  if (engine->own_reductions && row.tensor > 1) mapped.unsaid.emplace_back("all-reduce kernels of the engine");
  if (engine->mixed && row.phase == "requests" && !disaggregation_of(row))
    mapped.unsaid.emplace_back("several prompts in a pass of decoding");
  if (row.note.find("DBO") != std::string::npos) workload["overlap"] = true;
  if (row.note.find("weight offloading") != std::string::npos) mapped.unsaid.emplace_back("weights in host memory");
  if (row.note.find("NVFP4 dispatch") != std::string::npos)
    mapped.unsaid.emplace_back("precision of tokens on the way to experts");
}

}  // namespace fabricast::serving
