// Engines in published serving tables, with the nearest serving stacks.
//
// A new engine or release is one more line; the first that matches counts. `exact` is set only if the stack's
// parameters are those of that release. Names of `fabricast list stacks` need no entry.
#include <algorithm>
#include <array>

#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

namespace {

struct Engine {
  std::string_view name, version;  ///< the row's engine, and a prefix of its version
  std::string_view stack;
  bool exact;
  bool graphs;  ///< whether decode passes are CUDA graphs
};

// FasterTransformer and TurboMind launch kernels one by one: their source has no CUDA graphs for GPT
// [FasterTransformer]. vLLM V1, the default since 0.8, mixes prompts into decode passes [VLLM-tuning].
constexpr std::array<Engine, 16> engines{{
    {"vllm", "0.6", "vllm-0.6", true, true},
    {"vllm", "0.7", "vllm-0.6", false, true},
    {"vllm", "0.5", "vllm-0.6", false, true},
    {"vllm", "0.4", "vllm-0.6", false, true},
    {"vllm", "0.3", "vllm-0.6", false, true},
    {"vllm", "0.2", "vllm-0.6", false, true},
    {"vllm", "0.11", "vllm-0.11", true, true},
    {"vllm", "", "vllm-0.11", false, true},
    {"sglang", "0.5", "sglang-0.5", true, true},
    {"sglang", "", "sglang-0.5", false, true},
    // Engines compiled ahead of time: those of NIM 1.x, and of MLPerf rounds up to 4.1.
    {"trtllm", "NIM 1", "tensorrt-llm-0.15", false, true},
    {"trtllm", "MLPerf v4", "tensorrt-llm-0.15", false, true},
    {"trtllm", "0.1", "tensorrt-llm-0.15", false, true},
    {"trtllm", "", "tensorrt-llm-1.0", false, true},
    {"other", "FasterTransformer", "fastertransformer-5", true, false},
    {"other", "lmdeploy", "turbomind-0.1", true, false},
}};

const Engine* find_engine(const ServingRow& row) {
  // A prefix of the version: patch releases share a stack.
  const auto fits = [&](const Engine& e) { return row.engine == e.name && row.version.starts_with(e.version); };
  const auto e = std::find_if(engines.begin(), engines.end(), fits);
  return e == engines.end() ? nullptr : &*e;
}

int concurrency_of(const ServingRow& row) {
  std::string_view batch = row.batch;
  return take_number(batch).value_or(0);
}

/// Settings of InferenceX's scripts that differ from the engines' defaults [InferenceX].
void say_inferencex(Json& scheduler, const ServingRow& row) {
  const bool apart = disaggregation_of(row).has_value();
  if (row.engine == "trtllm" && row.data > 1) {
    // Balanced data-parallel attention: all ranks start prompts together, at the latest after 60 passes.
    scheduler["wait"] = 60;
  } else if (row.engine == "trtllm" && !apart && row.model.starts_with("llama") && row.input == 1024 &&
             row.output == 1024 && row.tensor < 8) {
    scheduler["wait"] = 20;
    scheduler["fill"] = 0.9;
  }
  // The scheduler checks for new requests every 10 passes; with 16 clients or more, every 30.
  if (row.engine == "sglang" && !apart && system_of(row).gpu == "b200")
    scheduler["receive"] = concurrency_of(row) >= 16 ? 30 : 10;
  if (row.engine == "vllm") scheduler["ahead"] = true;
  // Its recipes multiply the size of a chunk by the ranks with attention of their own, by which SGLang divides it; most
  // by twice as many [srt-slurm] [SGLang-chunk].
  if (row.engine == "sglang" && apart) scheduler["tokens"] = 8192;
}

/// The size of a pass for which AIConfigurator configures vLLM and TensorRT-LLM: the sequences, a prompt, and 1,500
/// tokens [AIConfigurator-eval].
void say_aiconfigurator(Json& scheduler, const ServingRow& row) {
  const int tokens = concurrency_of(row) + row.input + 1500;
  if (row.engine == "vllm") scheduler["tokens"] = tokens;
  // TensorRT-LLM's passes are whole blocks of its cache.
  if (row.engine == "trtllm") scheduler["tokens"] = (tokens + 31) / 32 * 32;
}

/// Whether vLLM plans ahead without being told to: since 0.14 [VLLM-async].
bool plans_ahead_by_release(const ServingRow& row) {
  std::string_view rest = row.version;
  if (row.engine != "vllm" || !rest.starts_with("0.")) return false;
  rest.remove_prefix(2);
  return take_number(rest).value_or(0) >= 14;
}

void say_scheduler(Json& workload, const ServingRow& row) {
  if (row.phase != "requests") return;
  Json scheduler = Json::object();
  if (plans_ahead_by_release(row)) scheduler["ahead"] = true;
  if (row.source.starts_with("inferencex")) say_inferencex(scheduler, row);
  if (row.source == "aic-gap") say_aiconfigurator(scheduler, row);
  if (!scheduler.empty()) workload["scheduler"] = std::move(scheduler);
}

}  // namespace

void say_engine(Json& workload, const ServingRow& row, MappedServing& mapped) {
  const Engine* engine = find_engine(row);
  const auto& stacks = shipped_hardware().serving;
  // Without an entry, the engine may name a stack itself, as tables of users do.
  const auto named = stacks.find(engine ? std::string(engine->stack) : row.engine);
  if (named == stacks.end()) return miss(mapped, "workload.stack: unknown engine '" + row.engine + "'");
  workload["framework"] = name_of(named->second.framework);
  workload["stack"] = named->first;
  if (!engine) return;
  if (!engine->exact) {
    const bool stated = !row.version.empty() && row.version != "?";
    mapped.assumed.push_back({"workload.stack", named->first,
                              "nearest to " + row.engine + " " + (stated ? row.version : "of unstated release")});
  }
  if (!engine->graphs) {
    workload["launch"] = "eager";
    mapped.assumed.push_back({"workload.launch", "eager", "its source code has no CUDA graphs for decode"});
  }
  say_scheduler(workload, row);
  // Dual batch overlap: two halves of a batch alternate between computation and communication.
  if (row.note.find("DBO") != std::string::npos) workload["overlap"] = true;
  if (row.note.find("weight offloading") != std::string::npos) {
    workload["offload_weights"] = 0.25;
    mapped.assumed.push_back({"workload.offload_weights", "0.25", "not stated; prompts take longer than the copy"});
  }
  if (row.note.find("NVFP4 dispatch") != std::string::npos)
    mapped.unsaid.emplace_back("precision of dispatched tokens");
}

}  // namespace fabricast::serving
