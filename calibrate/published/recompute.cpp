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

}  // namespace

void say_recompute(Json& workload, const PublishedRow& row, const Release& software, MappedRow& mapped) {
  if (row.recompute.empty()) {
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
  for (const std::string& module : split(row.recompute, '+')) {
    if (!enum_from<RecomputeModule>(module)) return miss(mapped, "workload.recompute_modules: " + module);
    workload["recompute_modules"].push_back(module);
  }
}

}  // namespace fabricast::published
