// The scenario section of training steps: `workload: {kind: training_step, ...}`.
//
// The spec structs mirror the keys of the section (docs/formats.md). `complete` replaces values that are `auto`, 0 or
// empty by those of the framework's stack or by what the size of the job implies, and the completed section is what
// reports show. What has a meaning of its own stays: no list of layers, no limit of capacity, one copy per expert,
// `scaling: auto` where GEMMs have 16 bits.
//
//   TrainingSpec spec = ...;                                      // from a file: visit_fields
//   complete(spec, hardware, 64);                                 // defaults and checks
//   const Program program = training_program(training_step(spec, node, hardware, 8));
//
// Texts and limits of the keys stand in visit_fields (models/workload/step_spec.cpp) and reach users from there; the
// comments here say what a value means in the code.
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

/// A switch; automatic: as the framework does. After `complete` no switch is automatic.
enum class Choose { automatic, yes, no };
template <>
struct EnumNames<Choose> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

/// PipelineSchedule; automatic: interleaved if a stage has several chunks, else 1f1b. The others are in the order of
/// PipelineSchedule, into which a choice is converted by its number.
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

/// Whether a step that does not fit in memory is an error. `ignore` is for configurations whose memory the model gets
/// wrong, and for questions such as "what if it had fitted?".
enum class MemoryCheck { check, ignore };
template <>
struct EnumNames<MemoryCheck> {
  static constexpr std::array<std::string_view, 2> names{"check", "ignore"};
};

/// Sequences. `global` must be given: 0 is refused, because no default would be anyone's batch.
struct BatchSpec {
  int global = 0;  ///< of a step, over all replicas; a multiple of micro x data
  int micro = 1;   ///< that a GPU processes at once
};

/// Degrees of parallelism. tensor x context x pipeline x data is the number of GPUs. Expert parallelism takes no GPUs
/// of its own: it divides the data and context parallel ranks, and with expert_tensor 1 the tensor parallel ranks, too.
struct ParallelSpec {
  int tensor = 1;         ///< divides heads and columns of the feed-forward block
  bool sequence = false;  ///< the tensor parallel ranks also split the kernels between the GEMMs, by tokens
  /// Context parallel ranks divide the tokens of a sequence; stages; chunks of layers per stage, above 1 only with the
  /// interleaved schedule; expert parallel ranks divide the experts.
  int context = 1, pipeline = 1, interleave = 1, expert = 1;
  int expert_tensor = 1;    ///< 1: each expert is whole; else equal to `tensor`
  int data = 0;             ///< 0: as many replicas as the GPUs allow
  int zero = -1;            ///< -1: as the framework does
  int shard = 0;            ///< 0: all data and context parallel ranks
  std::vector<int> layers;  ///< number of layers of each chunk, in model order; empty: as even as possible
  ScheduleChoice schedule = ScheduleChoice::automatic;
  /// From neighbouring to distant ranks: each of the four names once.
  std::string order = "tensor-context-data-pipeline";
};

/// Communication that overlaps computation. Overlap of `expert` is never automatic: no framework does it by default.
struct OverlapSpec {
  Choose data = Choose::automatic, tensor = Choose::automatic, pipeline = Choose::automatic, expert = Choose::automatic;
  Bytes bucket{0};  ///< 0: as the framework does
};

/// How gradients are reduced.
struct GradientSpec {
  GradientPrecision precision = GradientPrecision::automatic;
  double compression = 1;  ///< bytes on the network relative to uncompressed gradients
};

/// Mixtures of experts: load balance and dispatch of tokens. Without experts in the model it has no effect, but is
/// checked all the same.
struct ExpertSpec {
  double imbalance = 1;                           ///< tokens of the most loaded rank, relative to the mean
  double capacity = 0;                            ///< maximum tokens of an expert, relative to the mean; 0: no limit
  int copies = 0;                                 ///< of a token in an alltoall; 0: one per expert
  Dispatcher dispatcher = Dispatcher::automatic;  ///< automatic: alltoall
  int sms = 0;                                    ///< of a GPU, for deepep and hybridep alone; 0: as the framework does
  bool fp8_dispatch = false;                      ///< needs deepep or hybridep, and precision fp8
  Choose fused_permutation = Choose::automatic;   ///< automatic: as `compiled`
};

/// Variation between steps and hosts. Each sampled step draws which hosts are slow, and the jitter of each GPU, anew.
/// The slowest GPU of a stage sets the pace of all that communicate with it in every layer.
struct VariationSpec {
  int steps = 1;          ///< number of sampled steps
  Ratio slow_hosts{0};    ///< probability that a host is slow
  Ratio slowdown{0.1};    ///< relative increase of their compute time
  Ratio jitter{0};        ///< relative standard deviation of a GPU's compute time between steps
  std::int64_t seed = 1;  ///< equal seeds give equal steps
};

/// The section `workload` of kind training_step.
struct TrainingSpec {
  Framework framework = Framework::megatron;
  std::string stack;  ///< release of the framework; empty: its newest
  ModelSpec model;
  int mtp_layers = 0;                     ///< modules of multi-token prediction; not with Mamba layers
  Precision precision = Precision::bf16;  ///< of GEMMs; the GPU must support it
  BatchSpec batch;
  ParallelSpec parallel;
  Recompute recompute = Recompute::none;
  std::vector<RecomputeModule> recompute_modules;  ///< implies `selective`; refused with `ops` and `full`
  int offload_layers = 0;                          ///< layers per GPU whose activations go to host memory
  OverlapSpec overlap;
  GradientSpec gradients;
  ExpertSpec experts;
  Scaling scaling = Scaling::automatic;  ///< recipe for 8-bit and 4-bit numbers; refused where it does not apply
  Choose compiled = Choose::automatic;   ///< element-wise kernels are fused
  Choose flash_2 = Choose::automatic;    ///< FlashAttention 2 whatever the GPU, instead of the GPU's own kernel
  CudaGraphs cuda_graphs = CudaGraphs::none;
  Seconds fixed{-1};  ///< per step, outside computation and communication; below 0: the framework's
  MemoryCheck memory = MemoryCheck::check;
  VariationSpec variation;
};
/// The keys of the section with their limits, for reading, writing and documentation (core/fields.hpp).
void visit_fields(FieldVisitor& visit, TrainingSpec& spec);

/// The stack of that name, or the framework's newest if the name is empty: the one of the highest year, and of equal
/// years the last by name. A stack of that name is returned even if it belongs to another framework; `complete` refuses
/// it.
/// \throws UserError (path workload.stack) if no stack has the name, (path workload.framework) if the framework has
/// none
Stack find_stack(const Hardware& hardware, Framework framework, const std::string& name);

/// Fills in what the spec leaves to the software or to the size of the job. Completing a complete spec changes nothing.
/// Each fault says which value would work where one follows from the others. Memory is not checked here (memory.hpp).
/// \param gpus  of the whole job
/// \throws UserError with everything that is inconsistent: degrees whose product is not the number of GPUs, sizes that
/// do not divide, and so on
void complete(TrainingSpec& spec, const Hardware& hardware, std::int64_t gpus);

/// The step that the spec describes. Choices of the spec replace those of the stack in the copy that the step holds:
/// gradient precision, fixed time, FlashAttention. \param nvlink_ranks  GPUs of an NVLink domain
/// \pre the spec is complete
/// \throws UserError (path workload.precision) if the GPU does not support the precision
TrainingStep training_step(const TrainingSpec& spec, const NodeSpec& node, const Hardware& hardware, int nvlink_ranks);

}  // namespace fabricast
