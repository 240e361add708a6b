// Shared by `explain` of training and inference steps: changes of the network, and running all changes.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "fabricast/core/parallel.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

/// The collective of a kind of parallelism with the longest total time; null if there is none.
const CollectiveUse* longest_collective(const std::vector<CollectiveUse>& collectives, Part part);
/// Bus bandwidth of one call alone, B/s.
double bus_rate(const Program& program, const CollectiveUse& use);

/// Other algorithms for a collective. Empty if the scenario forces one, or for sends and receives, which have none.
Alternatives other_algorithms(const World& world, const CollectiveUse& use);
/// Other protocols for a collective; empty in the same cases.
Alternatives other_protocols(const World& world, const CollectiveUse& use);

/// Changes of network and nodes that apply, one list per kind.
std::vector<Alternatives> network_trials(const World& world);

/// Runs all changes in parallel. Of alternatives it keeps the best that fits, and one that does not fit if it gains
/// more. The result does not depend on the number of threads.
/// \param run    makes a W, which has `gain` and `fits`, from the changed world and the trial
/// \param worth  whether a W is worth reporting
/// \returns the outcomes in descending order of the gain
template <class W, class Run, class Worth>
std::vector<W> run_trials(const World& world, const std::vector<Alternatives>& all, const RunOptions& options, Run run,
                          Worth worth) {
  const ScenarioChanges changes(world.scenario());
  struct Task {
    std::size_t kind;
    const Trial* trial;
  };
  std::vector<Task> tasks;
  for (std::size_t k = 0; k < all.size(); ++k)
    for (const Trial& trial : all[k]) tasks.push_back({k, &trial});
  std::vector<std::optional<W>> outcomes(tasks.size());
  const auto try_one = [&](const Trial& trial) -> std::optional<W> {
    try {
      Scenario made = changes.with(trial.set);
      if (!changes.differs(made)) return std::nullopt;
      const auto other = build_world(std::move(made));
      return run(other, trial);
    } catch (const UserError&) {
      return std::nullopt;  // the scenario has no such key, or the change is not valid for it
    }
  };
  TaskProgress progress(options.progress, tasks.size());
  in_parallel(tasks.size(), thread_count(options.threads), [&](std::size_t i) {
    outcomes[i] = try_one(*tasks[i].trial);
    progress.one_done();
  });
  std::vector<W> found;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const W *best = nullptr, *large = nullptr;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::optional<W>& w = outcomes[i];
      if (tasks[i].kind != k || !w || !worth(*w)) continue;
      const W*& place = w->fits ? best : large;
      if (!place || w->gain > place->gain) place = &*w;
    }
    if (best) found.push_back(*best);
    if (large && (!best || large->gain > best->gain)) found.push_back(*large);
  }
  std::stable_sort(found.begin(), found.end(), [](const W& a, const W& b) { return a.gain > b.gain; });
  return found;
}

}  // namespace fabricast
