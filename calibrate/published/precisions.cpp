// Names of precisions in published tables. A scenario says how many bits, and how they are scaled.
#include <array>

#include "fabricast/core/text.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

struct PrecisionName {
  std::string_view name;  ///< in small letters
  std::string_view word;
  std::string_view scaling;  ///< empty: that of the stack
};

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
  miss(mapped, "workload.precision: '" + row.precision + "' is not known");
}

}  // namespace fabricast::published
