// The lookups that map the words of published serving tables to parts of a scenario: systems, engines, precisions,
// splits, requests.
//
// Every lookup writes the part of the scenario that the words stand for. It adds to the Mapping what it had to assume,
// which settings a scenario has no key for, and, if the row cannot be forecast without a value, what is missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabricast/calibrate/published_serving.hpp"
#include "mapping.hpp"

namespace fabricast::serving {

using published::Json;
using published::miss;

/// The parts of a row's `system`: `gpu=h100-sxm;count=8;nodes=1;net=nvswitch`.
struct ServingSystem {
  std::string gpu, network;
  int gpus = 0, nodes = 0;  ///< 0: not stated, or not a number
};
ServingSystem system_of(const ServingRow& row);

/// Equal groups of GPUs that each run the whole model, and the degrees of parallelism of one of them.
struct Workers {
  int count = 0, tensor = 1, pipeline = 1, data = 1, expert = 1;
  int expert_tensor = 0;  ///< number of ranks that share an expert; 0: not stated
  int batch = 0;          ///< sequences of each attention data-parallel rank
  int gpus_of_one() const { return tensor * pipeline * data; }
  int gpus() const { return count * gpus_of_one(); }
};
/// Workers for prefill and workers for decode, as the note of a row states them.
struct Disaggregation {
  Workers prompts, decoding;
};
/// Null if prefill and decode share all GPUs.
std::optional<Disaggregation> disaggregation_of(const ServingRow& row);

/// Number of attention data-parallel replicas, each with its own requests.
int replicas_of(const ServingRow& row, int gpus);

/// Writes `node`, `cluster` and the network.
/// \returns the GPUs of the job, including those that fill up its last node; 0 if the row is unmapped
int say_system(Json& scenario, const ServingRow& row, MappedServing& mapped);
/// Writes the scenario of a single all-reduce, by NCCL or by the engine's own kernel.
void say_collective(Json& scenario, const ServingRow& row, MappedServing& mapped);
/// Writes `framework`, `stack`, `launch`, `scheduler` and `overlap`.
void say_engine(Json& workload, const ServingRow& row, MappedServing& mapped);
/// Writes `model`, `precision`, `weight_precision` and `cache_precision`.
void say_numbers(Json& workload, const ServingRow& row, MappedServing& mapped);
/// Writes `parallel` and `disaggregated`.
void say_split(Json& workload, const ServingRow& row, int gpus, MappedServing& mapped);
/// Writes `phase`, `batch`, `input`, `output` and `load`.
void say_requests(Json& workload, const ServingRow& row, int gpus, MappedServing& mapped);

}  // namespace fabricast::serving
