// The scenario sections of steps: `workload: {kind: training_step, ...}`.
//
// What is `auto`, 0 or empty is filled in from the framework's software generation and the size of the job, and shown so.
#pragma once

#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "fabricast/workload/training.hpp"

namespace fabricast {

/// Decided by the software, or given.
enum class Choose { automatic, yes, no };
template <>
struct EnumNames<Choose> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

enum class ScheduleChoice { automatic, gpipe, one_f_one_b, interleaved, zero_bubble };
template <>
struct EnumNames<ScheduleChoice> {
  static constexpr std::array<std::string_view, 5> names{"auto", "gpipe", "1f1b", "interleaved", "zero_bubble"};
};

enum class GradientPrecision { automatic, fp32, bf16 };
template <>
struct EnumNames<GradientPrecision> {
  static constexpr std::array<std::string_view, 3> names{"auto", "fp32", "bf16"};
};

/// Whether a step that does not fit in memory is refused.
enum class MemoryCheck { check, ignore };
template <>
struct EnumNames<MemoryCheck> {
  static constexpr std::array<std::string_view, 2> names{"check", "ignore"};
};

struct BatchSpec {
  int global = 0;  ///< sequences of a step
  int micro = 1;
};

struct ParallelSpec {
  int tensor = 1;
  bool sequence = false;
  int context = 1, pipeline = 1, interleave = 1, expert = 1;
  int expert_tensor = 1;
  int data = 0;             ///< 0: what the job's GPUs leave
  int zero = -1;            ///< -1: as the software does
  int shard = 0;            ///< 0: all that could share
  std::vector<int> layers;  ///< of each chunk, in order of the model; empty: as even as can be
  ScheduleChoice schedule = ScheduleChoice::automatic;
  std::string order = "tensor-context-data-pipeline";
};

struct OverlapSpec {
  Choose data = Choose::automatic, tensor = Choose::automatic, pipeline = Choose::automatic, expert = Choose::automatic;
  Bytes bucket{0};  ///< 0: as the software does
};

struct GradientSpec {
  GradientPrecision precision = GradientPrecision::automatic;
  double compression = 1;
};

struct ExpertSpec {
  double imbalance = 1;
  double capacity = 0;
  int copies = 0;  ///< of a token that an alltoall sends; 0: one for each of its experts
  Dispatcher dispatcher = Dispatcher::automatic;
  int sms = 0;  ///< that the dispatcher's kernels hold; 0: as the software does
  bool fp8_dispatch = false;
  Choose fused_permutation = Choose::automatic;
};

/// What makes one step differ from the next.
struct VariationSpec {
  int steps = 1;        ///< that are drawn
  Ratio slow_hosts{0};  ///< of all
  Ratio slowdown{0.1};  ///< by which they compute slower
  Ratio jitter{0};      ///< of a GPU's computation from step to step: a standard deviation
  std::int64_t seed = 1;
};

struct TrainingSpec {
  Framework framework = Framework::megatron;
  std::string stack;  ///< empty: the framework's newest
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
  CudaGraphs cuda_graphs = CudaGraphs::none;
  Seconds fixed{-1};  ///< per step; below 0: the software's
  MemoryCheck memory = MemoryCheck::check;
  VariationSpec variation;
};
void visit_fields(FieldVisitor& visit, TrainingSpec& spec);

/// The software generation of that name, or a framework's newest. \throws UserError (path workload.stack)
Stack find_stack(const Hardware& hardware, Framework framework, const std::string& name);

/// Fills in what is left to the software or the size of the job.
/// \throws UserError with all that does not fit together: splits that do not multiply out, sizes that do not divide
void complete(TrainingSpec& spec, const Hardware& hardware, std::int64_t gpus);

/// \param nvlink_ranks  GPUs of an NVLink domain
/// \pre the spec is complete
TrainingStep training_step(const TrainingSpec& spec, const NodeSpec& node, const Hardware& hardware, int nvlink_ranks);

}  // namespace fabricast
