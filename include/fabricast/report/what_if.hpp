// What would help a collective: changes of the scenario, each simulated, and their gains (docs/models/what-if.md).
//
// `explain` tries every change on one size. `advise` tries changes that only set variables of NCCL, on all sizes of the
// scenario, and combines those that help. The table of all changes is sim/answer/collective/settings.cpp.
//
// Times are medians over all samples. Gains are fractions of the time that is saved; over several sizes, 1 minus the
// geometric mean of time after / time before, with equal weights. Results do not depend on the number of threads. The
// functions only read the World and may run concurrently on one World.
//
// Not considered: prices, and SMs that channels take from computation.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

/// Changes with a smaller gain are not reported, because forecasts cannot distinguish them.
inline constexpr double least_gain = 0.02;

/// What changes are derived from. Both forecasts are of the same sizes.
struct Situation {
  const World& world;
  const Forecast& forecast;
  const Forecast& weighed;  ///< the alternatives, by run_candidates
};

/// Changes of one kind that apply, e.g. several numbers of channels. At most one of them is taken.
using Alternatives = std::vector<Trial>;
/// All changes that apply.
std::vector<Alternatives> trials_for(const Situation& situation);
/// Whether a change sets variables of NCCL and nothing else.
bool is_nccl_setting(const Trial& trial);

/// A change and its effect.
struct WhatIf {
  std::string what;
  std::vector<std::string> set;  ///< its `--set` words
  std::vector<Seconds> times;    ///< by row of the forecast
  double gain = 0;
};

/// Simulates all changes. Changes that the scenario does not accept are skipped.
/// \param weighed  the alternatives of the forecast's sizes, by run_candidates
/// \returns the best of each group of alternatives if it gains `least_gain` or more, in descending order of the gain
/// \throws Interrupted on Ctrl-C
std::vector<WhatIf> what_would_help(const Forecast& forecast, const Forecast& weighed, const RunOptions& options = {});

/// A variable of NCCL to set, or to unset if it has no value.
struct Variable {
  std::string name;
  std::optional<std::string> value;
};

/// The variables of NCCL that differ between two scenarios.
std::vector<Variable> changed_variables(const Scenario& before, const Scenario& after);

/// A recommended setting, on top of those before it.
struct Advised {
  WhatIf change;                ///< its gain is relative to the settings before it
  std::vector<Seconds> before;  ///< without it, by row
  std::vector<Variable> variables;
};

/// A variable as a command of POSIX shells: `export NAME='value'`, or `unset NAME`.
std::string shell_command(const Variable& variable);

/// Recommended settings of NCCL for all sizes of a scenario.
struct Advice {
  Forecast before;             ///< of the scenario as it is
  std::vector<Seconds> after;  ///< with all recommended settings, by row
  double gain = 0;             ///< of all of them together
  std::vector<Advised> taken;  ///< in the order in which they were taken
  std::vector<Advised> mixed;  ///< settings that gain `least_gain` at some size, but not over all sizes
};

/// Takes the setting that gains most, then the one that gains most on top of it, and so on while the gain is at least
/// `least_gain`. Each variable is set once.
/// \throws UserError if the scenario does not use the flow engine; Interrupted on Ctrl-C
Advice advise(const World& world, const RunOptions& options = {});

/// \throws UserError if the scenario does not use the flow engine. The bound engine does not distinguish choices, and
///         the chunk engine takes minutes.
void require_flow_engine(const World& world);

}  // namespace fabricast
