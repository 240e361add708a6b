// Names of precisions in published tables. A scenario says how many bits; how numbers are scaled is the software's.
#include <array>

#include "fabricast/core/text.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

struct PrecisionName {
  std::string_view name;  ///< in small letters
  std::string_view word;
  std::string_view recipe;  ///< empty: that of the stack
};

constexpr std::array<PrecisionName, 11> precision_names{{
    {"bf16", "bf16", ""},
    {"fp16", "fp16", ""},
    {"fp32", "fp32", ""},
    {"tf32", "tf32", ""},
    {"fp8", "fp8", ""},
    {"fp8-tensorwise", "fp8", ""},
    {"fp8-rowwise", "fp8", "FP8 scaling by row"},
    {"fp8-cs", "fp8", "FP8 current scaling"},
    {"fp8-mx", "fp8", "FP8 scaling by MX block"},
    {"fp8-sc", "fp8", "FP8 scaling by block"},
    {"nvfp4", "fp4", "NVFP4 recipe"},
}};

}  // namespace

std::string say_precision(const PublishedRow& row, MappedRow& mapped) {
  const std::string name = lower_case(row.precision);
  for (const PrecisionName& p : precision_names) {
    if (p.name != name) continue;
    if (!p.recipe.empty()) mapped.unsaid.emplace_back(p.recipe);
    return std::string(p.word);
  }
  miss(mapped, "workload.precision: '" + row.precision + "' is not known");
  return {};
}

}  // namespace fabricast::published
