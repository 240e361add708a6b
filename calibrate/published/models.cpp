// Models in published tables, with their presets.
//
// The text of a model is its name, followed by dimensions if the source states them: `Qwen3-32B h5120 L64 a64 kv8 hd128
// ff25600 V151936`, and by the number of layers if the benchmark used a cut version. An unknown name is accepted if its
// dimensions are stated. A new name is one more line.
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

// Sources use names such as `175B` for different models, so an entry may be limited to a source.
struct ModelName {
  std::string_view source;  ///< prefix of the row's source; empty: any
  std::string_view name;
  std::string_view preset;
};

constexpr std::array<ModelName, 53> model_names{{
    {"megatron-sc21", "gpt-1.7B", "megatron-sc21-1.7b"},
    {"megatron-sc21", "gpt-3.6B", "megatron-sc21-3.6b"},
    {"megatron-sc21", "gpt-7.5B", "megatron-sc21-7.5b"},
    {"megatron-sc21", "gpt-18.4B", "megatron-sc21-18b"},
    {"megatron-sc21", "gpt-39.1B", "megatron-sc21-39b"},
    {"megatron-sc21", "gpt-76.1B", "megatron-sc21-76b"},
    {"megatron-sc21", "gpt-145.6B", "megatron-sc21-145b"},
    {"megatron-sc21", "gpt-310.1B", "megatron-sc21-310b"},
    {"megatron-sc21", "gpt-529.6B", "megatron-sc21-530b"},
    {"megatron-sc21", "gpt-1008.0B", "megatron-sc21-1t"},
    {"korthikanti22", "22B", "korthikanti-22b"},
    {"korthikanti22", "175B", "korthikanti-175b"},
    {"korthikanti22", "530B", "korthikanti-530b"},
    {"korthikanti22", "1T", "korthikanti-1t"},
    {"megascale", "175B", "megascale-175b"},
    {"torchtitan", "8B", "llama3-8b"},
    {"torchtitan", "70B", "llama3-70b"},
    {"torchtitan", "405B", "llama3-405b"},
    {"", "GPT3-5B", "gpt3-5b"},
    {"", "GPT3-20B", "gpt3-20b"},
    {"", "GPT3-175B", "gpt3-175b"},
    {"", "Grok-1-314B", "grok-1"},
    {"", "InternLM-7B", "internlm-7b"},
    {"", "LLAMA2-7B", "llama2-7b"},
    {"", "LLAMA2-13B", "llama2-13b"},
    {"", "LLAMA2-70B", "llama2-70b"},
    {"", "LLAMA3-8B", "llama3-8b"},
    {"", "LLAMA3_8B", "llama3-8b"},
    {"", "LLAMA3-70B", "llama3-70b"},
    {"", "LLAMA3_70B", "llama3-70b"},
    {"", "LLAMA3.1_405B", "llama3-405b"},
    {"", "Mixtral-8x7B", "mixtral-8x7b"},
    {"", "Moonlight-16B-A3B", "moonlight-16b-a3b"},
    {"", "mpt-125m", "mpt-125m"},
    {"", "mpt-350m", "mpt-350m"},
    {"", "mpt-760m", "mpt-760m"},
    {"", "mpt-1b", "mpt-1b"},
    {"", "mpt-3b", "mpt-3b"},
    {"", "mpt-7b", "mpt-7b"},
    {"", "mpt-13b", "mpt-13b"},
    {"", "mpt-30b", "mpt-30b"},
    {"", "mpt-70b", "mpt-70b"},
    {"", "Nemotron-8B", "nemotron3-8b"},
    {"", "Nemotron-15B", "nemotron4-15b"},
    {"", "Nemotron-22B", "nemotron3-22b"},
    {"", "Nemotron-340B", "nemotron4-340b"},
    {"", "Nemotron_3_Nano", "nemotron3-nano-30b-a3b"},
    {"", "Nemotron-3-Nano-30B-A3B", "nemotron3-nano-30b-a3b"},
    {"", "Qwen1.5-MoE-A2.7B", "qwen1.5-moe-a2.7b"},
    {"", "Qwen3-30B-A3B", "qwen3-30b-a3b"},
    {"", "Qwen3_30B_a3B", "qwen3-30b-a3b"},
    {"", "Qwen3-32B", "qwen3-32b"},
    {"", "Qwen3-235B-A22B", "qwen3-235b-a22b"},
}};

/// The words that consist of letters and a whole number: `h4096` is {h, 4096}.
std::map<std::string, int, std::less<>> dimensions_of(std::string_view text) {
  std::map<std::string, int, std::less<>> found;
  for (const std::string_view word : words_of(text)) {
    std::size_t letters = 0;
    while (letters < word.size() && !is_digit(word[letters])) ++letters;
    const auto n = small_number(word.substr(letters));
    // A name such as `Qwen3-32B` continues after its number and is not a dimension.
    if (letters > 0 && n && *n > 0) found.emplace(word.substr(0, letters), *n);
  }
  return found;
}

/// The number of layers of a cut model: 7 of `cut to 7 layers`.
std::optional<int> layers_left(std::string_view text) {
  auto rest = after(text, "cut to ");
  return rest ? take_number(*rest) : std::nullopt;
}

/// A model with the dimensions that a row states. Without `ff` and experts it is taken for a GPT. Null if h, L, a or V
/// is missing.
std::optional<Json> of_dimensions(const std::map<std::string, int, std::less<>>& d) {
  for (const char* needed : {"h", "L", "a", "V"})
    if (!d.contains(needed)) return std::nullopt;
  Json model = {{"layers", d.at("L")}, {"hidden", d.at("h")}, {"heads", d.at("a")}, {"vocab", d.at("V")}};
  for (const auto& [name, key] :
       {std::pair{"kv", "kv_heads"}, std::pair{"hd", "head_dim"}, std::pair{"ff", "ffn"}, std::pair{"E", "experts"},
        std::pair{"top", "active_experts"}, std::pair{"ffe", "expert_ffn"}})
    if (const auto at = d.find(name); at != d.end()) model[key] = at->second;
  // GPT: feed-forward width of 4 times the hidden size, one matrix for embedding and output, and biases.
  if (!d.contains("ff") && !d.contains("E")) {
    model["ffn"] = 4 * d.at("h");
    model["tied"] = true;
    model["biases"] = true;
  }
  return model;
}

}  // namespace

SaidModel say_model(const PublishedRow& row, MappedRow& mapped) {
  const std::string_view name = std::string_view(row.model).substr(0, row.model.find(' '));
  const auto dimensions = dimensions_of(row.model);
  std::string_view preset = name;
  for (const ModelName& m : model_names)
    if (m.name == name && row.source.starts_with(m.source)) preset = m.preset;
  SaidModel said;
  if (const ModelPreset* known = find_by_name(model_presets(), preset)) {
    said.json = {{"preset", preset}};
    said.layers = known->dimensions.layers;
    said.experts = known->dimensions.experts > 0;
    // `L` beside a preset and `cut to` mean the same: the benchmark ran fewer layers.
    auto left = layers_left(row.model);
    if (const auto stated = dimensions.find("L"); !left && stated != dimensions.end()) left = stated->second;
    if (left && *left != said.layers) said.json["layers"] = said.layers = *left;
  } else if (auto model = of_dimensions(dimensions)) {
    said.json = std::move(*model);
    said.layers = dimensions.at("L");
    said.experts = dimensions.contains("E");
    if (!dimensions.contains("ff") && !said.experts)
      mapped.assumed.push_back({"workload.model", "ffn 4 x hidden, tied, biases", "as in GPT; the row states no more"});
  } else {
    miss(mapped, "workload.model: unknown model '" + std::string(name) + "', and the row does not state h, L, a and V");
    return said;
  }
  if (row.sequence > 0)
    said.json["sequence"] = row.sequence;
  else
    miss(mapped, "workload.model.sequence: not stated");
  return said;
}

}  // namespace fabricast::published
