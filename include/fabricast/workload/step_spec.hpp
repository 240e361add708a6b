// The scenario section of training steps: `workload: {kind: training_step, ...}`.
//
// The spec structs mirror the keys of the section (docs/formats.md). `complete` replaces values that are `auto`, 0 or
// empty by those of the framework's stack or by what the size of the job implies, and the completed section is what
// reports show.
//
// Pure functions; safe to call concurrently. Errors are UserErrors with paths below `workload`.
#pragma once

#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "fabricast/workload/training.hpp"

namespace fabricast {

/// A switch; automatic: as the framework does.
enum class Choose { automatic, yes, no };
template <>
struct EnumNames<Choose> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

/// PipelineSchedule; automatic: interleaved if a stage has several chunks, else 1f1b.
enum class ScheduleChoice { automatic, gpipe, one_f_one_b, interleaved, zero_bubble };
template <>
struct EnumNames<ScheduleChoice> {
  static constexpr std::array<std::string_view, 5> names{"auto", "gpipe", "1f1b", "interleaved", "zero_bubble"};
};

/// Precision in which gradients are reduced; automatic: as the framework does.
enum class GradientPrecision { automatic, fp32, bf16 };
template <>
struct EnumNames<GradientPrecision> {
  static constexpr std::array<std::string_view, 3> names{"auto", "fp32", "bf16"};
};

/// Whether a step that does not fit in memory is an error.
enum class MemoryCheck { check, ignore };
template <>
struct EnumNames<MemoryCheck> {
  static constexpr std::array<std::string_view, 2> names{"check", "ignore"};
};

struct BatchSpec {
  int global = 0;  ///< sequences of a step
  int micro = 1;
};

/// Degrees of parallelism.
struct ParallelSpec {
  int tensor = 1;
  bool sequence = false;
  int context = 1, pipeline = 1, interleave = 1, expert = 1;
  int expert_tensor = 1;
  int data = 0;             ///< 0: as many replicas as the GPUs allow
  int zero = -1;            ///< -1: as the framework does
  int shard = 0;            ///< 0: all data and context parallel ranks
  std::vector<int> layers;  ///< number of layers of each chunk, in model order; empty: as even as possible
  ScheduleChoice schedule = ScheduleChoice::automatic;
  std::string order = "tensor-context-data-pipeline";
};

/// Communication that overlaps computation.
struct OverlapSpec {
  Choose data = Choose::automatic, tensor = Choose::automatic, pipeline = Choose::automatic, expert = Choose::automatic;
  Bytes bucket{0};  ///< 0: as the framework does
};

struct GradientSpec {
  GradientPrecision precision = GradientPrecision::automatic;
  double compression = 1;  ///< bytes on the network relative to uncompressed gradients
};

struct ExpertSpec {
  double imbalance = 1;  ///< tokens of the most loaded rank, relative to the mean
  double capacity = 0;   ///< maximum tokens of an expert, relative to the mean; 0: no limit
  int copies = 0;        ///< of a token in an alltoall; 0: one per expert
  Dispatcher dispatcher = Dispatcher::automatic;
  int sms = 0;  ///< occupied by the dispatcher's kernels; 0: as the framework does
  bool fp8_dispatch = false;
  Choose fused_permutation = Choose::automatic;
};

/// Variation between steps and hosts.
struct VariationSpec {
  int steps = 1;        ///< number of sampled steps
  Ratio slow_hosts{0};  ///< fraction of all hosts
  Ratio slowdown{0.1};  ///< relative increase of their compute time
  Ratio jitter{0};      ///< relative standard deviation of a GPU's compute time between steps
  std::int64_t seed = 1;
};

/// The section `workload` of kind training_step.
struct TrainingSpec {
  Framework framework = Framework::megatron;
  std::string stack;  ///< release of the framework; empty: its newest
  ModelSpec model;
  int mtp_layers = 0;  ///< modules of multi-token prediction
  Precision precision = Precision::bf16;
  BatchSpec batch;
  ParallelSpec parallel;
  Recompute recompute = Recompute::none;
  std::vector<RecomputeModule> recompute_modules;
  int offload_layers = 0;
  OverlapSpec overlap;
  GradientSpec gradients;
  ExpertSpec experts;
  Scaling scaling = Scaling::automatic;
  Choose compiled = Choose::automatic;
  Choose flash_2 = Choose::automatic;
  CudaGraphs cuda_graphs = CudaGraphs::none;
  Seconds fixed{-1};  ///< per step, outside computation and communication; below 0: the framework's
  MemoryCheck memory = MemoryCheck::check;
  VariationSpec variation;
};
void visit_fields(FieldVisitor& visit, TrainingSpec& spec);

/// The stack of that name, or the framework's newest if the name is empty.
/// \throws UserError (path workload.stack) if no stack has the name, (path workload.framework) if the framework has
/// none
Stack find_stack(const Hardware& hardware, Framework framework, const std::string& name);

/// Fills in what the spec leaves to the software or to the size of the job.
/// \throws UserError with everything that is inconsistent: degrees whose product is not the number of GPUs, sizes that
/// do not divide, and so on
void complete(TrainingSpec& spec, const Hardware& hardware, std::int64_t gpus);

/// The step that the spec describes. \param nvlink_ranks  GPUs of an NVLink domain
/// \pre the spec is complete
/// \throws UserError (path workload.precision) if the GPU does not support the precision
TrainingStep training_step(const TrainingSpec& spec, const NodeSpec& node, const Hardware& hardware, int nvlink_ranks);

}  // namespace fabricast
