// Words of published serving tables and what they are in a scenario: systems, engines, precisions, splits, requests.
//
// Every lookup gives the parts of the scenario that the words stand for, and adds to a Mapping what it had to assume,
// what a scenario cannot say, and, if that decides, what is missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabricast/calibrate/published_serving.hpp"
#include "mapping.hpp"

namespace fabricast::serving {

using published::Json;
using published::miss;

/// What a row's `system` says: `gpu=h100-sxm;count=8;nodes=1;net=nvswitch`.
struct ServingSystem {
  std::string gpu, network;
  int gpus = 0, nodes = 0;  ///< 0: not stated, or no number
};
ServingSystem system_of(const ServingRow& row);

/// What a row's note says of GPUs for prompts and others that decode.
struct Workers {
  int count = 0, tensor = 1, pipeline = 1, data = 1, expert = 1;
  int expert_tensor = 0;  ///< ways that an expert is split; 0: not stated
  int batch = 0;          ///< sequences of each attention-parallel rank
  int gpus_of_one() const { return tensor * pipeline * data; }
  int gpus() const { return count * gpus_of_one(); }
};
struct Disaggregation {
  Workers prompts, decoding;
};
/// Nothing: prompts and decoding share all GPUs.
std::optional<Disaggregation> disaggregation_of(const ServingRow& row);

/// Attention-parallel replicas, each with requests of its own.
int replicas_of(const ServingRow& row, int gpus);

/// `node`, `cluster`, network. \returns the job's GPUs, with those that fill up its last node
int say_system(Json& scenario, const ServingRow& row, MappedServing& mapped);
/// The same of a collective: a node of the row's GPUs, NCCL's version, one size.
void say_collective(Json& scenario, const ServingRow& row, MappedServing& mapped);
/// `framework`, `stack`, `launch`, and what the engine does besides.
void say_engine(Json& workload, const ServingRow& row, MappedServing& mapped);
/// `model`, `precision`, `weight_precision`, `cache_precision`.
void say_numbers(Json& workload, const ServingRow& row, MappedServing& mapped);
/// `parallel` and `disaggregated`, of so many GPUs.
void say_split(Json& workload, const ServingRow& row, int gpus, MappedServing& mapped);
/// `phase`, `batch`, `input`, `output`.
void say_requests(Json& workload, const ServingRow& row, int gpus, MappedServing& mapped);

}  // namespace fabricast::serving
