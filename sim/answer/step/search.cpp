// `plan --search parallel`: which split of a training step over its GPUs is fastest (report/plan.hpp).
//
// search_splits.cpp enumerates the splits that divide and fit, search_estimate.cpp ranks them by closed formulas, and
// this file forecasts the best of them. The estimate only selects: its order is not that of the result.
#include "fabricast/report/plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "fabricast/core/parallel.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

namespace {

PlanRow row_of(const SplitCandidate& candidate, const StepForecast& f) {
  PlanRow row;
  row.candidate = candidate;
  row.time = f.time;
  row.tokens_per_second = f.tokens_per_second();
  row.mfu = f.mfu();
  row.bubble = f.mean.bubble / f.time;
  row.exposed = std::accumulate(f.mean.exposed.begin(), f.mean.exposed.end(), Seconds{}) / f.time;
  return row;
}

/// The `limit` best by estimate. The scenario's own split replaces the last one if it is not among them.
std::vector<SplitCandidate> bounded(std::vector<SplitCandidate> all, const Split& own, std::size_t limit) {
  if (all.size() <= limit) return all;
  const auto given = std::find_if(all.begin(), all.end(), [&](const SplitCandidate& c) { return c.split == own; });
  if (given >= all.begin() + static_cast<std::ptrdiff_t>(limit) && given != all.end()) all[limit - 1] = *given;
  all.resize(limit);
  return all;
}

}  // namespace

PlanResult plan_parallel(const World& world, std::size_t limit, const RunOptions& options) {
  const TrainingStep base = step_of(world);
  const Split own = split_of(base);
  SplitSearch search = search_splits(world);
  PlanResult result;
  result.world = world;
  result.considered = search.considered;
  result.not_divided = search.not_divided;
  result.not_fitting = search.not_fitting;
  result.gpus = base.layout.ranks();
  if (search.candidates.empty())
    throw UserError::at("workload.model", "no split of the model fits in memory",
                        "use more GPUs (cluster.nodes), or a smaller batch or model");
  const std::vector<SplitCandidate> all = bounded(std::move(search.candidates), own, limit);
  result.left_out = result.considered - result.not_divided - result.not_fitting - all.size();

  // Each split is made by its `--set` words, as a user would make it. The check below ensures that these words and the
  // enumeration agree, so that the printed words give the printed row.
  const ScenarioChanges changes(world.scenario());
  const World timed = world.with_times_only();  // no row says what bounds a collective
  std::vector<std::optional<PlanRow>> rows(all.size());
  TaskProgress progress(options.progress, all.size());
  in_parallel(all.size(), thread_count(options.threads), [&](std::size_t i) {
    RunOptions alone;
    alone.threads = 1;
    const std::vector<std::string> set = words_of(all[i].split, base);
    try {
      // The words are parsed as `run` would parse them. Nodes and network are those of the scenario.
      const Scenario made = changes.with(set);
      const TrainingStep step =
          training_step(made.workload.training, made.node.spec, made.hardware, nvlink_ranks(made));
      FABRICAST_CHECK(split_of(step) == all[i].split, "a split's words make another split");
      // The first sample of the network only, the same one for all splits.
      rows[i] = row_of(all[i], run_step(timed, step, alone, 1));
      rows[i]->set = set;
      rows[i]->given = all[i].split == own;
    } catch (const UserError&) {
      // Its groups are distributed unevenly over the nodes. Such a row counts as refused.
    }
    progress.one_done();
  });
  for (std::optional<PlanRow>& row : rows) {
    if (row)
      result.rows.push_back(std::move(*row));
    else
      ++result.refused;
  }
  std::stable_sort(result.rows.begin(), result.rows.end(),
                   [](const PlanRow& a, const PlanRow& b) { return a.time < b.time; });
  return result;
}

}  // namespace fabricast
