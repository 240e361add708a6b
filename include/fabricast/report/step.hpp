// The forecast of a training step or an execution trace, from which all its writers print, and the run that makes it.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/step/timeline.hpp"
#include "fabricast/workload/memory.hpp"
#include "fabricast/workload/training.hpp"

namespace fabricast {

/// One kind of exchange of a step.
struct CollectiveUse {
  CollectiveKind kind;
  CollectiveTime alone;
  double calls = 0;     ///< of a rank in the step
  double seconds = 0;   ///< that they ran, together
  double slowdown = 1;  ///< seconds / those of the same calls alone
};

enum class MemoryFit { fits, near_the_limit, does_not_fit };
template <>
struct EnumNames<MemoryFit> {
  static constexpr std::array<std::string_view, 3> names{"fits", "near the limit", "does not fit"};
};

/// What a GPU of each stage holds.
struct StepMemory {
  std::vector<MemoryUse> stages;
  double capacity = 0;  ///< B of a GPU
  const MemoryUse& peak() const;
  double share() const { return peak().total() / capacity; }
  /// Near the limit is what the uncertainty of the estimate leaves open.
  MemoryFit fit() const;
};

struct StepForecast {
  // Over the draws of the network and of slow hosts, s.
  double seconds = 0;  ///< median
  double seconds_p5 = 0, seconds_p95 = 0, seconds_worst = 0;
  int samples = 1;
  std::vector<double> sample_seconds;  ///< of every draw
  double factor = 0;  ///< the 90 % interval of the median: from seconds / factor to seconds x factor; 0: not known
  // Of the median draw.
  ActorTimes mean;  ///< over all GPUs; its parts add up to the step
  std::vector<ActorTimes> stages;
  Program program;
  Timeline timeline;
  std::vector<CollectiveUse> collectives;
  StepMemory memory;  ///< empty of a trace

  std::int64_t gpus = 0;
  double tokens = 0;              ///< of the step; 0: a trace, of which no FLOPs are known either
  double flops = 0;               ///< that the model needs of a GPU, attention over the full square
  double flops_causal = 0;        ///< the same with half of it
  double peak = 0;                ///< FLOP/s of the GPU's data sheet at the step's precision
  std::uint64_t fingerprint = 0;  ///< hash of all draws' step times
  double tokens_per_second() const { return tokens / seconds; }
  double mfu() const { return flops / seconds / peak; }
  double mfu_causal() const { return flops_causal / seconds / peak; }
};

/// Seconds that even the busiest stage waits for others, while the pipeline fills and drains.
double schedule_bubble(const StepForecast& forecast);

/// The step that a scenario describes. \pre its workload is a training step
TrainingStep step_of(const World& world);

/// GPUs that share NVLink.
int nvlink_ranks(const Scenario& scenario);
StepMemory memory_of_step(const TrainingStep& step, int nvlink_ranks);
/// \throws UserError if the step, of training or inference, does not fit in a GPU's memory, and the scenario does not say
/// `memory: ignore`. Of other workloads nothing is known, and nothing asked
void require_memory(const World& world);

/// How a step's timeline runs: what computation loses to each kind of exchange, by the channels that it holds.
/// \param interference of a collective of 16 channels
TimelineOptions timeline_options(double interference, const Program& program, Traffic& traffic);

/// Whether the step fits in memory is not asked.
/// \throws UserError if the step does not fit together, Interrupted on Ctrl-C
StepForecast run_step(const World& world, const RunOptions& options = {});
/// The same of another step on the same GPUs. \param most_draws  only the first ones; 0: all
StepForecast run_step(const World& world, const TrainingStep& step, const RunOptions& options = {}, int most_samples = 0);
/// The same of an execution trace, of which neither tokens, FLOPs nor memory are known.
StepForecast run_trace(const World& world, const RunOptions& options = {});

std::string step_text(const World& world, const StepForecast& forecast);
std::string step_json(const World& world, const StepForecast& forecast);
std::string step_csv(const World& world, const StepForecast& forecast);

/// The timeline of the median draw as trace events (JSON), for ui.perfetto.dev.
struct StepTrace {
  std::string json;
  std::string left_out;  ///< of a long step: the micro-batches in the middle; empty: nothing
};
StepTrace step_trace(const StepForecast& forecast, std::size_t most_slices = 200'000);

}  // namespace fabricast
