// `plan --search parallel`: which split of a training step over its GPUs is fastest (docs/models/training-answers.md).
//
//   enumerate  all splits of the scenario's GPUs and global batch
//   drop       splits that do not divide evenly or do not fit in memory
//   bound      keep the most promising ones by an estimate from closed formulas
//   forecast   each of them as `run` does, on the first sample of the network
//
// Splits differ in degrees of parallelism, chunks per stage, ZeRO stage, micro-batch and recomputation. Model, GPUs,
// global batch and software are the scenario's.
//
// Results do not depend on the number of threads. The functions only read the World and may run concurrently on one
// World.
//
// Not modelled: convergence. Not varied: global batch, placement, settings of NCCL.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/step.hpp"

namespace fabricast {

/// A division of a step over GPUs.
struct Split {
  int tensor = 1, context = 1, pipeline = 1, interleave = 1, data = 1, expert = 1, zero = 0, micro_batch = 1;
  Recompute recompute = Recompute::none;  ///< the weakest recomputation with which it fits
  bool operator==(const Split&) const = default;
};

/// The ZeRO stages that a framework offers.
std::vector<int> zero_stages(Framework framework);
/// The split of a step.
Split split_of(const TrainingStep& step);
/// The step with another split. Schedule, sequence parallelism, shards and layers per chunk follow from it.
TrainingStep with_split(const TrainingStep& step, const Split& split);
/// The `--set` words that change the scenario of `base` to this split.
std::vector<std::string> words_of(const Split& split, const TrainingStep& base);

/// A split that divides evenly and fits in memory.
struct SplitCandidate {
  Split split;
  Bytes memory;      ///< per GPU of the stage that needs most
  Seconds estimate;  ///< by estimate_step
};

/// All splits of a step.
struct SplitSearch {
  std::vector<SplitCandidate> candidates;  ///< in ascending order of the estimate
  std::size_t considered = 0;
  std::size_t not_divided = 0;  ///< the global batch does not divide by micro-batches and replicas, or by stages
  std::size_t not_fitting = 0;  ///< too large for memory with any recomputation
};
/// Enumerates the splits of the scenario's step. The scenario's own values are added to the usual ones. The scenario's
/// own split counts as fitting if `run` accepts it: near the limit of memory, or with `memory: ignore`.
SplitSearch search_splits(const World& world);

/// A rough step time from closed formulas: kernels as in the forecast, collectives at the rates of links, the pipeline
/// bubble, and gradients that overlap as far as computation lasts. Nothing is simulated.
Seconds estimate_step(const World& world, const TrainingStep& step);

/// The forecast of a split.
struct PlanRow {
  SplitCandidate candidate;
  bool given = false;  ///< whether this is the scenario's own split
  std::vector<std::string> set;
  Seconds time;
  double tokens_per_second = 0, mfu = 0;
  double bubble = 0, exposed = 0;  ///< fractions of the step, mean over all GPUs
};

/// The result of a search.
struct PlanResult {
  World world;                ///< with the scenario's own split
  std::vector<PlanRow> rows;  ///< the fastest first
  std::size_t considered = 0, not_divided = 0, not_fitting = 0;
  std::size_t left_out = 0;  ///< beyond the limit
  std::size_t refused = 0;   ///< cannot be forecast, because groups are distributed unevenly over nodes
  std::int64_t gpus = 0;
};

/// Searches the splits and forecasts the best by estimate, always including the scenario's own if it fits.
/// \param limit  maximum number of forecasts
/// \pre the workload is a training step
/// \throws UserError if no split fits in memory; Interrupted on Ctrl-C
PlanResult plan_parallel(const World& world, std::size_t limit, const RunOptions& options = {});

/// A table for people. The scenario's own split is always shown.
/// \param top  maximum number of rows; 0: all
std::string plan_text(const PlanResult& result, std::size_t top);
/// The first `top` rows as JSON (docs/formats.md).
std::string plan_json(const PlanResult& result, std::size_t top);
/// The first `top` rows as CSV.
std::string plan_csv(const PlanResult& result, std::size_t top);

}  // namespace fabricast
