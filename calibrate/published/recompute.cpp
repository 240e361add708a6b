// Activation recomputation in the words of published tables.
#include <fmt/format.h>

#include <array>

#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/workload/recompute.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

struct RecomputeName {
  std::string_view name, word;
};

constexpr std::array<RecomputeName, 6> recompute_names{{
    {"none", "none"},
    {"full", "full"},
    {"selective(op)", "ops"},
    {"ops", "ops"},
    {"core_attn", "selective"},
    {"seqpar+selective", "selective"},
}};

/// What a recipe recomputes of a model, where the table does not state it.
struct Recipe {
  std::string_view software, model;  ///< parts of the note's `sw=` and of the model's name
  std::string_view recompute;        ///< as a table would state it
};
// Recipes of the JAX rows [DGXC-benchmarking], whose policies name what is kept: save_dot_except_mlp,
// save_dot_except_mlpwi, SAVE_QKV_OUT_PROJ and SAVE_DOT_ONLY keep the projections of attention or all GEMMs,
// save_qkv_proj those of queries, keys and values. None needs the last GEMM of a layer again.
constexpr std::array<Recipe, 4> recipes{{
    {"dgxc v24.11", "LLAMA2-70B", "core_attn+layernorm+linear_fc1"},
    {"dgxc v25.", "LLAMA3_70B", "core_attn+layernorm+linear_proj+linear_fc1"},
    {"Paxml", "GPT3-175B", "core_attn+layernorm+linear_fc1"},
    {"Paxml", "GPT3-5B", "core_attn+layernorm"},
}};

std::string_view recipe_of(const PublishedRow& row, const Note& note) {
  for (const Recipe& r : recipes)
    if (note.software.find(r.software) != std::string::npos && row.model.find(r.model) != std::string::npos)
      return r.recompute;
  return {};
}

void say_modules(Json& workload, std::string_view modules, MappedRow& mapped) {
  for (const std::string& module : split(modules, '+')) {
    if (!enum_from<RecomputeModule>(module)) return miss(mapped, "workload.recompute_modules: " + module);
    workload["recompute_modules"].push_back(module);
  }
}

}  // namespace

void say_recompute(Json& workload, const PublishedRow& row, const Note& note, const Release& software,
                   MappedRow& mapped) {
  if (row.recompute.empty()) {
    if (const std::string_view recipe = recipe_of(row, note); !recipe.empty()) {
      mapped.assumed.push_back(
          {"workload.recompute_modules", std::string(recipe), "not stated; the software's recipe"});
      return say_modules(workload, recipe, mapped);
    }
    mapped.assumed.push_back({"workload.recompute", std::string(software.recompute), "not stated"});
    workload["recompute"] = software.recompute;
    return;
  }
  // The word means the attention core in Megatron, and every second GEMM and all element-wise operations in torchtitan,
  // so the release decides.
  if (row.recompute == "selective") {
    workload["recompute"] = software.selective;
    return;
  }
  for (const RecomputeName& r : recompute_names)
    if (r.name == row.recompute) {
      workload["recompute"] = r.word;
      return;
    }
  // What is left is a list of modules, such as `moe_act+layernorm`.
  say_modules(workload, row.recompute, mapped);
}

}  // namespace fabricast::published
