// Rows of a single all-reduce, by NCCL or by a serving engine's own kernel.
//
// Such rows test the kernels alone, without requests, scheduler or GEMMs.
#include <fmt/format.h>

#include "fabricast/core/scan.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

namespace {

void say_nccl(Json& scenario, const ServingRow& row, std::string_view version) {
  scenario["nccl"] = {{"version", std::string(version)}};
  scenario["workload"] = {{"collective", "all_reduce"}, {"sizes", {fmt::format("{}B", row.input)}}};
}

/// Message size in bytes. Some sources probably count elements, which are taken to have 16 bits.
std::int64_t message_of(const ServingRow& row, MappedServing& mapped) {
  if (row.note.find("likely elements") == std::string::npos) return row.input;
  mapped.assumed.push_back(
      {"workload.message", fmt::format("{}B", 2 * row.input), "its sizes are probably counts of elements"});
  return std::int64_t{2} * row.input;
}

void say_own(Json& scenario, const ServingRow& row, MappedServing& mapped) {
  Json workload = {{"kind", "inference"}};
  say_engine(workload, row, mapped);
  workload["phase"] = "all_reduce";
  workload["message"] = fmt::format("{}B", message_of(row, mapped));
  const bool eager = row.note.find("eager") != std::string::npos;
  // This source reports times shorter than a host can launch kernels, so it must have timed the kernel alone.
  const bool timed_alone = row.source == "sglang-pr2904";
  if (timed_alone) mapped.assumed.push_back({"workload.launch", "graph", "its times are shorter than a launch"});
  workload["launch"] = eager && !timed_alone ? "eager" : "graph";
  // Phase all_reduce uses only the tensor degree; any model will do.
  workload["model"] = {{"preset", "llama3.1-8b"}};
  workload["parallel"] = {{"tensor", row.tensor}};
  scenario["workload"] = std::move(workload);
}

}  // namespace

void say_collective(Json& scenario, const ServingRow& row, MappedServing& mapped) {
  if (mapped.metric != ServingMetric::allreduce_us) return miss(mapped, "metric: a collective has no " + row.metric);
  if (row.input == 0) return miss(mapped, "workload.message: not stated");
  if (say_system(scenario, row, mapped) == 0) return;
  if (const auto version = after(row.version, "NCCL "))
    say_nccl(scenario, row, *version);
  else
    say_own(scenario, row, mapped);
}

}  // namespace fabricast::serving
