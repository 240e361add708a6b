// Software releases in published tables, with their stacks.
//
// A new release is one more line. The first line that matches counts, so sources come before names, and forks before
// the software that they fork. `exact` is set only if the stack's parameters are those of that release.
#include <algorithm>
#include <array>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

// Sequence parallelism: in Megatron since 2022; on by default with tensor parallelism in NeMo, Megatron-Bridge and the
// scripts of Megatron's forks [NeMo-performance]. InternEvo's mode `mtp` does not have it [InternEvo], and BLOOM's
// trainer predates it [BigScience-176B].
// Experts: Megatron split them like other layers until expert_tensor_parallel_size was added [Megatron-Core-MoE].
constexpr std::array<Release, 19> releases{{
    {"megatron-sc21", "", "megatron", "megatron-2021", true, false, true, "none", "selective"},
    {"korthikanti22", "", "megatron", "megatron-2022", true, false, true, "none", "selective"},
    {"megascale-tab2-Megatron-LM", "", "megatron", "megatron-2023", true, true, true, "selective", "selective"},
    {"nemo-24.07", "", "nemo", "nemo-24.07", true, true, true, "none", "selective"},
    {"torchtitan-pr1690", "", "fsdp", "torchtitan-25.09", true, true, false, "none", "ops"},
    {"torchtitan-2024-12", "", "fsdp", "torchtitan-24.12", true, true, false, "none", "ops"},
    {"llm-foundry", "", "fsdp", "llm-foundry-23", true, false, false, "none", "selective"},
    {"", "Pai-Megatron-Patch", "megatron", "megatron-2024", false, true, false, "none", "selective"},
    {"", "FlagScale", "megatron", "megatron-2024", false, true, true, "none", "selective"},
    {"", "megatron-core core_v0.6", "megatron", "megatron-2024", true, true, true, "none", "selective"},
    {"", "Megatron-Bridge", "nemo", "nemo-24.07", false, true, false, "none", "selective"},
    {"", "NeMo", "nemo", "nemo-24.07", false, true, true, "none", "selective"},
    {"", "torchtitan", "fsdp", "torchtitan-24.12", false, true, false, "none", "ops"},
    {"", "InternEvo v0.2", "megatron", "internevo-0.2", true, false, false, "none", "selective"},
    {"", "InternEvo", "megatron", "internevo-0.2", false, false, false, "none", "selective"},
    {"", "Megatron-DeepSpeed", "megatron", "megatron-deepspeed-2022", true, false, false, "none", "selective"},
    {"", "DeepSpeed", "deepspeed", "deepspeed-0.14", false, false, false, "none", "selective"},
    {"", "JAX", "fsdp", "maxtext-24.12", true, true, false, "full", "full"},
    {"", "Paxml", "fsdp", "maxtext-24.12", false, true, false, "full", "full"},
}};

/// The stack of that name. User tables may name it directly in the note.
const Release* shipped_stack(const std::string& name) {
  static const std::vector<Release> stacks = [] {
    std::vector<Release> all;
    for (const auto& [stack_name, stack] : shipped_hardware().stacks)
      all.push_back({"", stack_name, name_of(stack.framework), stack_name, true, stack.framework != Framework::ddp,
                     false, "none", stack.framework == Framework::fsdp ? "ops" : "selective"});
    return all;
  }();
  const auto found = std::find_if(stacks.begin(), stacks.end(), [&](const Release& s) { return s.stack == name; });
  return found == stacks.end() ? nullptr : &*found;
}

}  // namespace

const Release* find_release(const PublishedRow& row, const Note& note) {
  if (const Release* stack = shipped_stack(note.software)) return stack;
  for (const Release& s : releases) {
    const bool named = s.named.empty() || note.software.find(s.named) != std::string::npos;
    if (row.source.starts_with(s.source) && named) return &s;
  }
  return nullptr;
}

}  // namespace fabricast::published
