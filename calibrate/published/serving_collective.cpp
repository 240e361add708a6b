// Rows of a single all-reduce. Those of NCCL are forecast; kernels of the engines' own have no key yet.
#include <fmt/format.h>

#include "fabricast/core/scan.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

void say_collective(Json& scenario, const ServingRow& row, MappedServing& mapped) {
  const auto version = after(row.version, "NCCL ");
  if (!version)
    return miss(mapped, "workload.all_reduce: kernels of the engine (" + row.engine + " " + row.version + ")");
  if (mapped.metric != ServingMetric::allreduce_us)
    return miss(mapped, "metric: " + row.metric + " is of no collective");
  if (row.input == 0) return miss(mapped, "workload.sizes: not stated");
  if (say_system(scenario, row, mapped) == 0) return;
  scenario["nccl"] = {{"version", std::string(*version)}};
  scenario["workload"] = {{"collective", "all_reduce"}, {"sizes", {fmt::format("{}B", row.input)}}};
}

}  // namespace fabricast::serving
