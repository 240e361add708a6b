// The forecast of a training step or of an execution trace: the record that all its writers print, and the functions
// that compute it.
//
// A step is a program (workload/program.hpp) whose timeline (step/timeline.hpp) runs on each sample: a sample of the
// network (ECMP hashes) combined with a sample of slow hosts and jitter. The median sample is kept with its timeline,
// breakdown and collectives.
//
// Results do not depend on the number of threads. The functions only read the World and may run concurrently on one
// World.
//
// Not modelled: convergence, input pipelines, and hosts whose slowness changes within a step. A trace has no tokens,
// FLOPs or memory.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/step/timeline.hpp"
#include "fabricast/workload/memory.hpp"
#include "fabricast/workload/training.hpp"

namespace fabricast {

/// One kind of collective in a step.
struct CollectiveUse {
  CollectiveKind kind;
  CollectiveTime alone;  ///< of one call that nothing else overlaps
  double calls = 0;      ///< per rank and step
  Seconds time;          ///< total time in which its calls ran
  double slowdown = 1;   ///< `time` divided by the time of the same calls alone
};

/// Whether an estimate of memory is within the capacity, within its uncertainty of the capacity, or beyond.
enum class MemoryFit { fits, near_the_limit, does_not_fit };
template <>
struct EnumNames<MemoryFit> {
  static constexpr std::array<std::string_view, 3> names{"fits", "near the limit", "does not fit"};
};

/// The memory of a GPU of each pipeline stage.
struct StepMemory {
  std::vector<MemoryUse> stages;
  Bytes capacity;  ///< per GPU
  /// The stage that needs most. \pre there are stages
  const MemoryUse& peak() const;
  /// The fraction of the capacity that it needs. \pre there are stages
  double share() const { return peak().share(capacity); }
  /// The verdict on it. \pre there are stages
  MemoryFit fit() const;
};

/// The forecast of a step.
struct StepForecast {
  World world;  ///< what is forecast
  // Over all samples.
  Seconds time;  ///< median
  Seconds time_p5, time_p95, time_worst;
  int samples = 1;
  std::vector<Seconds> sample_times;  ///< one per sample
  /// The 90 % interval of the median is from time / factor to time x factor. 0 until add_interval sets it.
  double factor = 0;
  // Of the median sample.
  ActorTimes mean;                 ///< over all GPUs; its components add up to the step
  std::vector<ActorTimes> stages;  ///< one per actor: a pipeline stage, or a rank of a trace
  Program program;
  Timeline timeline;
  std::vector<CollectiveUse> collectives;  ///< that were called
  StepMemory memory;                       ///< empty for a trace

  std::int64_t gpus = 0;
  double tokens = 0;              ///< per step; 0 for a trace
  double flops = 0;               ///< that the model needs per GPU, with attention over the full square; 0 for a trace
  double flops_causal = 0;        ///< the same with half of that square
  double peak = 0;                ///< FLOP/s of the GPU's data sheet at the step's precision
  std::uint64_t fingerprint = 0;  ///< hash of the step times of all samples
  /// Of all GPUs. 0 for a trace.
  double tokens_per_second() const { return tokens / time.value; }
  /// Model FLOPs utilization, a fraction of `peak`. \pre not a trace
  double mfu() const { return flops / time.value / peak; }
  /// The same with causal attention. \pre not a trace
  double mfu_causal() const { return flops_causal / time.value / peak; }
};

/// The part of the bubble in which even the busiest stage waits for others: the pipeline fills and drains.
Seconds schedule_bubble(const StepForecast& forecast);

/// The step of the scenario. \pre its workload is a training step
TrainingStep step_of(const World& world);

/// Number of GPUs of an NVLink domain of the job.
int nvlink_ranks(const Scenario& scenario);
/// The memory of each stage. \param nvlink_ranks  GPUs of an NVLink domain
StepMemory memory_of_step(const TrainingStep& step, int nvlink_ranks);
/// Checks that a training or inference step fits in the memory of a GPU. Other workloads are not checked, nor training
/// steps with `memory: ignore`. Training steps may exceed the capacity by the uncertainty of the estimate.
/// \throws UserError if it does not fit; the hint lists settings that make it fit
void require_memory(const World& world);

/// Blocks of the collectives whose interference with computation was measured. More count as so many.
inline constexpr double measured_blocks = 16;
/// Thread blocks of a collective's kernel: one per channel, none by copy engines. Each keeps an SM.
int blocks_of(const CollectiveTime& collective);

/// Options of a step's timeline: how much computation slows down while each kind of collective runs. A collective
/// occupies SMs, one per channel, so the loss is proportional to its channels up to 16. Kinds that state their own
/// fraction of SMs (CollectiveKind::sms) cost that fraction.
/// \param interference  fraction of its speed that computation loses to a collective of 16 channels
TimelineOptions timeline_options(double interference, const Program& program, Traffic& traffic);

/// Forecasts the step of the scenario. Does not check whether it fits in memory (require_memory).
/// \pre the workload is a training step
/// \throws UserError if the network cannot carry the step's collectives, for example because the ranks of a group are
///         distributed unevenly over nodes; Interrupted on Ctrl-C
StepForecast run_step(const World& world, const RunOptions& options = {});
/// Forecasts another step on the same GPUs and network.
/// \param most_samples  only the first samples; 0: all
StepForecast run_step(const World& world, const TrainingStep& step, const RunOptions& options = {},
                      int most_samples = 0);
/// Forecasts an execution trace. Recorded computation already contains what it lost to collectives.
/// \throws UserError also if the trace has another number of ranks than the job has GPUs
StepForecast run_trace(const World& world, const RunOptions& options = {});

/// The forecast as text for people.
std::string step_text(const StepForecast& forecast);
/// The forecast as JSON (docs/formats.md).
std::string step_json(const StepForecast& forecast);
/// Step time and breakdown as CSV.
std::string step_csv(const StepForecast& forecast);

/// The timeline of the median sample as trace events (JSON), for ui.perfetto.dev.
struct StepTrace {
  std::string json;
  std::string left_out;  ///< which micro-batches were left out to keep the file small; empty: none
};
/// \param most_slices  above this number, whole micro-batches in the middle of the step are left out
StepTrace step_trace(const StepForecast& forecast, std::size_t most_slices = 200'000);

}  // namespace fabricast
