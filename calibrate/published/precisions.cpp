// Names of precisions in published tables. A scenario has two keys for them: the format and its scaling.
#include <array>

#include "fabricast/core/text.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

struct PrecisionName {
  std::string_view name;     ///< in lower case
  std::string_view word;     ///< `workload.precision`
  std::string_view scaling;  ///< `workload.scaling`; empty: the stack's default
};

// The suffixes of Megatron-Bridge: CS is current scaling, MX the block format MXFP8, SC scaling by blocks.
constexpr std::array<PrecisionName, 11> precision_names{{
    {"bf16", "bf16", ""},
    {"fp16", "fp16", ""},
    {"fp32", "fp32", ""},
    {"tf32", "tf32", ""},
    {"fp8", "fp8", ""},
    {"fp8-tensorwise", "fp8", "current"},
    {"fp8-rowwise", "fp8", "rowwise"},
    {"fp8-cs", "fp8", "current"},
    {"fp8-mx", "fp8", "mxfp8"},
    {"fp8-sc", "fp8", "blockwise"},
    {"nvfp4", "fp4", "nvfp4"},
}};

}  // namespace

void say_precision(Json& workload, const PublishedRow& row, MappedRow& mapped) {
  const std::string name = lower_case(row.precision);
  for (const PrecisionName& p : precision_names) {
    if (p.name != name) continue;
    workload["precision"] = p.word;
    if (!p.scaling.empty()) workload["scaling"] = p.scaling;
    return;
  }
  miss(mapped, "workload.precision: unknown precision '" + row.precision + "'");
}

}  // namespace fabricast::published
