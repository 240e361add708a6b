// What the answers for training and for inference steps share: trials of the network, and running trials.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "fabricast/core/parallel.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

/// The exchange of a part of parallelism that runs longest; null: there is none.
const CollectiveUse* longest_collective(const std::vector<CollectiveUse>& collectives, Part part);
/// B/s of bus bandwidth of one call alone.
double bus_rate(const Program& program, const CollectiveUse& use);

/// Other algorithms, other protocols for a collective; empty if it is none, or the scenario forces one.
Alternatives other_algorithms(const World& world, const CollectiveUse& use);
Alternatives other_protocols(const World& world, const CollectiveUse& use);

/// Changes of network and nodes that apply, a list per kind.
std::vector<Alternatives> network_trials(const World& world);

/// Runs each trial, on all threads. Of alternatives the best that fits is told, and one that does not fit if it is
/// better still. The order does not depend on the number of threads.
/// \param run    makes a W, which has `gain` and `fits`, of the changed world and the trial
/// \param worth  whether a W is to be told
/// \returns the best first
template <class W, class Run, class Worth>
std::vector<W> run_trials(const World& world, const std::vector<Alternatives>& all, const RunOptions& options, Run run,
                          Worth worth) {
  const std::string effective = to_yaml(world.scenario);
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
      Scenario made = changed(world.scenario, effective, trial.set);
      if (to_yaml(made) == effective) return std::nullopt;
      const auto other = build_world(std::move(made), world.searches);
      return run(*other, trial);
    } catch (const UserError&) {
      return std::nullopt;  // this scenario has no such key, or can not be changed in that way
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
