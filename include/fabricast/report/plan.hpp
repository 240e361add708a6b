// `plan --search parallel`: which split of a training step over its GPUs is fastest (docs/models/training-answers.md).
//
//   enumerate  all splits of the scenario's GPUs and global batch
//   drop       what does not divide, and what does not fit in memory
//   bound      the most promising by an estimate: computation, bubble, and what collectives take of links at best
//   forecast   those, each as `run` would, on the first draw of the network
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/step.hpp"

namespace fabricast {

struct Split {
  int tensor = 1, context = 1, pipeline = 1, interleave = 1, data = 1, expert = 1, zero = 0, micro_batch = 1;
  Recompute recompute = Recompute::none;  ///< the least with which it fits
  bool operator==(const Split&) const = default;
};

/// What the software can share between replicas.
std::vector<int> zero_stages(Framework framework);
Split split_of(const TrainingStep& step);
/// The step split otherwise.
TrainingStep with_split(const TrainingStep& step, const Split& split);
/// The `--set` words that make it.
std::vector<std::string> words_of(const Split& split, const TrainingStep& base);

/// A split that divides and fits.
struct SplitCandidate {
  Split split;
  double memory = 0;    ///< B of the stage that needs most
  double estimate = 0;  ///< s, a rough one
};

struct SplitSearch {
  std::vector<SplitCandidate> candidates;  ///< the best estimate first
  std::size_t considered = 0;
  std::size_t not_divided = 0;  ///< the global batch, or micro-batches by stages
  std::size_t not_fitting = 0;  ///< with any recomputation
};
/// All splits of the scenario's step.
SplitSearch search_splits(const World& world);

/// s of a step, roughly: never waits for two things at once.
double estimate_step(const World& world, const TrainingStep& step);

struct PlanRow {
  SplitCandidate candidate;
  bool given = false;  ///< the scenario's own
  std::vector<std::string> set;
  double seconds = 0, tokens_per_second = 0, mfu = 0;
  double bubble = 0, exposed = 0;  ///< parts of the step
};

struct PlanResult {
  std::vector<PlanRow> rows;  ///< the fastest first
  std::size_t considered = 0, not_divided = 0, not_fitting = 0;
  std::size_t left_out = 0;  ///< beyond the limit
  std::size_t refused = 0;   ///< groups that lie unevenly over nodes
  std::int64_t gpus = 0;
};

/// \param limit  forecasts, at most. The same bytes on any number of threads.
/// \throws UserError if no split fits, Interrupted on Ctrl-C
PlanResult plan_parallel(const World& world, std::size_t limit, const RunOptions& options = {});

/// \param top  rows that are shown; 0: all
std::string plan_text(const World& world, const PlanResult& result, std::size_t top);
std::string plan_json(const World& world, const PlanResult& result, std::size_t top);
std::string plan_csv(const PlanResult& result, std::size_t top);

}  // namespace fabricast
