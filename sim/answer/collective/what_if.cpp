// Tries changes of a scenario on collectives (report/what_if.hpp). settings.cpp lists the changes. Each trial is a
// scenario of its own: parsed from its words, built and forecast as `run` would, so a user who runs the words gets the
// promised time.
#include "fabricast/report/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "fabricast/report/samples.hpp"
#include "fabricast/scenario/lossy.hpp"

namespace fabricast {

namespace {

/// The outcome of a trial, and the scenario that it makes.
struct Outcome {
  WhatIf what_if;
  Scenario scenario;
};

/// 1 minus the geometric mean of time after / time before, with equal weights for all sizes.
double mean_gain(const std::vector<Seconds>& before, const std::vector<Seconds>& after) {
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += std::log(after[i] / before[i]);
  return 1 - std::exp(sum / static_cast<double>(before.size()));
}

/// By size: the median over samples, or the mean. Timeouts are rare, so that a median does not see them.
std::vector<Seconds> times_of(const Forecast& forecast, bool mean) {
  std::vector<Seconds> times;
  for (const ForecastRow& row : forecast.rows) times.push_back(mean ? mean_of_samples(row.sample_times) : row.time);
  return times;
}

bool has_timeouts(const World& world) { return is_lossy(world.scenario().fabric.congestion); }

/// What trials start from.
struct Ground {
  const Scenario& scenario;
  ScenarioChanges changes;
  std::vector<Seconds> before;  ///< by size
};

/// \param wanted  whether to run a changed scenario
/// \returns nothing if the trial does not change the scenario, is not valid for it, or is not wanted
template <class Wanted>
std::optional<Outcome> run_trial(const Ground& ground, const Trial& trial, const RunOptions& options, Wanted wanted) {
  try {
    const Scenario& scenario = ground.scenario;
    Scenario made = ground.changes.with(trial.set);
    // A change that leaves the scenario as it is has no gain; comparing the keys is cheaper than a forecast.
    if (!wanted(made) || !ground.changes.differs(made)) return std::nullopt;
    // The words cannot express sizes that the caller narrowed, as `explain` does, so they are set again.
    set_sizes(made, scenario.sizes());
    const auto world = build_world(std::move(made));
    std::vector<Seconds> times = times_of(run_forecast(world, options), is_lossy(ground.scenario.fabric.congestion));
    const double gain = mean_gain(ground.before, times);
    return Outcome{{trial.what, trial.set, std::move(times), gain}, world.scenario()};
  } catch (const UserError&) {
    return std::nullopt;  // the scenario has no such key, or the change is not valid for it
  }
}

/// Whether some size gains more than `least_gain`.
bool helps_somewhere(const std::vector<Seconds>& before, const WhatIf& w) {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (w.times[i] < before[i] * (1 - least_gain)) return true;
  return false;
}

/// Runs all trials in order.
/// \param use  called with the index of the alternatives, the trial and its outcome
template <class Wanted, class Use>
void run_trials(const Ground& ground, const std::vector<Alternatives>& all, const RunOptions& options, Wanted wanted,
                Use use) {
  double count = 0, done = 0;
  for (const Alternatives& list : all) count += static_cast<double>(list.size());
  // Trials run one after the other, because each forecast is parallel by itself.
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Trial& trial : all[i]) {
      use(i, trial, run_trial(ground, trial, part_of(options, done / count, (done + 1) / count), wanted));
      ++done;
    }
}

}  // namespace

std::vector<WhatIf> what_would_help(const Forecast& forecast, const Forecast& weighed, const RunOptions& options) {
  const World& world = forecast.world;
  const std::vector<Alternatives> all = trials_for({world, forecast, weighed});
  std::vector<std::optional<WhatIf>> best(all.size());
  run_trials(
      {world.scenario(), ScenarioChanges(world.scenario()), times_of(forecast, has_timeouts(world))}, all, options,
      [](const Scenario&) { return true; },
      [&](std::size_t i, const Trial&, std::optional<Outcome> outcome) {
        // Alternatives compete: the best of a kind is kept, if it reaches the threshold at all.
        if (outcome && outcome->what_if.gain > (best[i] ? best[i]->gain : least_gain))
          best[i] = std::move(outcome->what_if);
      });
  std::vector<WhatIf> found;
  for (std::optional<WhatIf>& w : best)
    if (w) found.push_back(std::move(*w));
  std::stable_sort(found.begin(), found.end(), [](const WhatIf& a, const WhatIf& b) { return a.gain > b.gain; });
  return found;
}

void require_flow_engine(const World& world) {
  if (world.scenario().network.engine != EngineKind::flow)
    throw UserError::at("network.engine", "advice requires the flow engine", "--set network.engine=flow");
}

std::vector<Variable> changed_variables(const Scenario& before, const Scenario& after) {
  std::vector<Variable> list;
  for (const auto& [name, value] : after.nccl.env)
    if (const auto it = before.nccl.env.find(name); it == before.nccl.env.end() || it->second != value)
      list.push_back({name, value});
  for (const auto& [name, value] : before.nccl.env)
    if (!after.nccl.env.contains(name)) list.push_back({name, std::nullopt});
  return list;
}

namespace {

/// The greedy search of `advise`: the scenario takes on one setting after the other.
/// Greedy, because settings interact: two that gain alone may gain nothing together (queue pairs and channels both
/// spread load). Each round starts from the scenario with all earlier settings, so gains in the list add up to the
/// total.
class Search {
 public:
  Search(const World& world, const RunOptions& options) : options_(options) {
    advice_.before = run_forecast(world, part_of(options, 0, 0.1));
    forecast_ = advice_.before;
    weighed_ = run_candidates(forecast_, part_of(options, 0.1, 0.3));
    mean_ = has_timeouts(world);
    advice_.after = times_of(forecast_, mean_);
  }

  Advice run(World world) {
    // The number of rounds is not known in advance. Each takes half of the remaining progress.
    for (double done = 0.3;; done += (1 - done) / 2) {
      std::optional<Outcome> best = round(world, part_of(options_, done, done + (1 - done) / 2));
      if (!best) break;
      take(world.scenario(), *best);
      // The times of its rows are known, but trials_for also needs their plans.
      world = build_world(std::move(best->scenario));
      forecast_ = run_forecast(world);
    }
    if (options_.progress) options_.progress(1);
    advice_.gain = mean_gain(times_of(advice_.before, mean_), advice_.after);
    return std::move(advice_);
  }

 private:
  /// Tries all remaining settings. Those that help at some size, but not over all, become `mixed`.
  /// \returns the setting that gains most, if it gains `least_gain` or more
  std::optional<Outcome> round(const World& world, const RunOptions& options) {
    std::vector<Alternatives> all = trials_for({world, forecast_, weighed_});
    for (Alternatives& list : all) std::erase_if(list, [&](const Trial& t) { return !is_nccl_setting(t) || done(t); });
    std::erase_if(all, [](const Alternatives& list) { return list.empty(); });
    std::vector<std::optional<Outcome>> kinds(all.size());
    run_trials(
        {world.scenario(), ScenarioChanges(world.scenario()), advice_.after}, all, options,
        // A variable is set once: later rounds would otherwise tune the same one again and again.
        [&](const Scenario& s) { return !taken_before(changed_variables(world.scenario(), s)); },
        [&](std::size_t i, const Trial& trial, std::optional<Outcome> outcome) {
          // What does not help at any size is assumed not to help after other settings either, which saves its run in
          // later rounds.
          if (!outcome || !helps_somewhere(advice_.after, outcome->what_if))
            useless_.push_back(trial.what);
          else if (!kinds[i] || outcome->what_if.gain > kinds[i]->what_if.gain)
            kinds[i] = std::move(outcome);
        });
    std::optional<Outcome> best;
    // Only those of the last round are reported, on top of all settings taken.
    advice_.mixed.clear();
    for (std::optional<Outcome>& kind : kinds) {
      if (!kind) continue;
      if (kind->what_if.gain < least_gain)
        advice_.mixed.push_back({kind->what_if, advice_.after, changed_variables(world.scenario(), kind->scenario)});
      if (!best || kind->what_if.gain > best->what_if.gain) best = std::move(kind);
    }
    if (best && best->what_if.gain < least_gain) best.reset();
    return best;
  }

  /// Whether a trial helped at no size in an earlier round; it is not tried again.
  bool done(const Trial& trial) const {
    return std::find(useless_.begin(), useless_.end(), trial.what) != useless_.end();
  }

  bool taken_before(const std::vector<Variable>& variables) const {
    for (const Variable& v : variables)
      for (const Advised& a : advice_.taken)
        for (const Variable& taken : a.variables)
          if (taken.name == v.name) return true;
    return false;
  }

  void take(const Scenario& before, Outcome& outcome) {
    std::vector<Seconds> after = outcome.what_if.times;
    advice_.taken.push_back(
        {std::move(outcome.what_if), std::move(advice_.after), changed_variables(before, outcome.scenario)});
    advice_.after = std::move(after);
  }

  const RunOptions& options_;
  Advice advice_;
  Forecast forecast_, weighed_;
  std::vector<std::string> useless_;
  bool mean_ = false;
};

}  // namespace

Advice advise(const World& world, const RunOptions& options) {
  require_flow_engine(world);
  return Search(world, options).run(world);
}

}  // namespace fabricast
