// Models and precisions in published serving tables. A precision is `weights/cache`, such as `fp8/bf16`; `?` is not
// stated.
//
// A precision may mean the stored weights, the GEMMs or both. 4-bit checkpoints differ in which layers they quantize,
// and only some GPUs multiply in 4 bits, so the model and the GPU decide what the word means.
#include <array>

#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

namespace {

struct PrecisionWord {
  std::string_view name, word;
};
constexpr std::array<PrecisionWord, 6> weight_words{
    {{"bf16", "bf16"}, {"fp16", "fp16"}, {"fp8", "fp8"}, {"fp4", "fp4"}, {"int8", "int8"}, {"int4", "int4"}}};
/// For a KV cache only the number of bits matters, so fp16 is bf16.
constexpr std::array<PrecisionWord, 6> cache_words{
    {{"bf16", "bf16"}, {"fp16", "bf16"}, {"fp8", "fp8"}, {"int8", "int8"}, {"int4", "int4"}, {"?", ""}}};

/// Whether the data sheet has a peak, which it has only if the tensor cores support the precision.
bool computes_in(Precision precision, const ServingRow& row) {
  const auto& gpus = shipped_hardware().gpus;
  const auto gpu = gpus.find(system_of(row).gpu);
  return gpu != gpus.end() && gpu->second.sheet.peak_of(precision) > 0;
}

void say_weights(Json& workload, const ServingRow& row, std::string_view word, MappedServing& mapped) {
  const auto assume = [&](const char* key, const char* value, const char* why) {
    mapped.assumed.push_back({key, value, why});
  };
  if (word.starts_with("int")) {
    // GEMMs of integers are not modelled.
    const char* const wide = computes_in(Precision::bf16, row) ? "bf16" : "fp16";
    workload["precision"] = wide;
    workload["weight_precision"] = word;
    assume("workload.precision", wide, "weights are integers, and GEMMs convert them");
  } else if (word != "fp4") {
    // With 8 bits or more, weights and GEMMs have the same precision.
    workload["precision"] = word;
  } else if (row.model.starts_with("gpt-oss")) {
    workload["precision"] = "bf16";
    workload["experts"] = {{"weight_precision", "fp4"}};
    assume("workload.experts.weight_precision", "fp4", "only its experts have 4 bits, and their GEMMs run in 16");
  } else if (!computes_in(Precision::fp4, row)) {
    workload["precision"] = "bf16";
    workload["weight_precision"] = "fp4";
    assume("workload.precision", "bf16", "the GPU has no 4-bit GEMMs");
  } else if (row.model.starts_with("deepseek")) {
    workload["precision"] = "bf16";
    workload["experts"] = {{"precision", "fp4"}};
    workload["projection_precision"] = "fp4";
    assume("workload.projection_precision", "fp4",
           "its published 4-bit checkpoint keeps the rest of attention in 16 bits [DeepSeek-FP4]");
  } else {
    workload["precision"] = word;
  }
}

}  // namespace

void say_numbers(Json& workload, const ServingRow& row, MappedServing& mapped) {
  const ModelPreset* model = find_by_name(model_presets(), row.model);
  if (!model) return miss(mapped, "workload.model: unknown model '" + row.model + "'");
  mapped.experts = model->dimensions.experts > 0;
  workload["model"] = {{"preset", row.model}};
  std::string_view cache = row.precision;
  std::string_view weights = take_until(cache, '/');
  if (weights.size() > 1 && weights.ends_with('?')) {
    weights.remove_suffix(1);
    mapped.assumed.push_back({"workload.precision", std::string(weights), "the source leaves it blank"});
  }
  const auto* weight = find_by_name(weight_words, weights);
  const auto* cached = find_by_name(cache_words, cache.empty() ? "?" : cache);
  if (!weight || !cached) return miss(mapped, "workload.precision: unknown precision '" + row.precision + "'");
  say_weights(workload, row, weight->word, mapped);
  if (cached->word.empty())
    mapped.assumed.push_back({"workload.cache_precision", "auto", "not stated; fp8 where GEMMs have 8 bits or fewer"});
  else
    workload["cache_precision"] = cached->word;
}

}  // namespace fabricast::serving
