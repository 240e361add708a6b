// What would help: changes of a scenario, each simulated, and what they gain.
//
// All that is tried stands in one table, sim/report/settings.cpp. `explain` tries it on one size. `advise` tries what
// is a variable of NCCL's on all sizes of the scenario, and puts together what helps.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

/// A gain below this is not worth a line: forecasts do not tell it apart.
inline constexpr double least_gain = 0.02;

/// Where trials come from. The forecasts are of the same sizes.
struct Situation {
  const World& world;
  const Forecast& forecast;
  const Forecast& weighed;  ///< by run_candidates
};

/// Changes of one kind that apply, e.g. several numbers of channels; at most one of them is taken.
using Alternatives = std::vector<Trial>;
/// All that applies.
std::vector<Alternatives> trials_for(const Situation& situation);
/// Whether it only sets NCCL's variables.
bool is_nccl_setting(const Trial& trial);

/// A trial's outcome.
struct WhatIf {
  std::string what;
  std::vector<std::string> set;
  std::vector<double> times;  ///< s, median over draws, by row of the forecast
  double gain = 0;            ///< part of the time that is saved: over sizes, the geometric mean of what is left
};

/// Tries everything; of alternatives the best is kept.
/// \param weighed  of the forecast's sizes by run_candidates
/// \returns those that gain `least_gain` or more, the best first
std::vector<WhatIf> what_would_help(const World& world, const Forecast& forecast, const Forecast& weighed,
                                    const RunOptions& options = {});

/// A variable of NCCL's to set; to unset if there is no value.
struct Variable {
  std::string name;
  std::optional<std::string> value;
};

/// A setting that is worth having on top of those before it.
struct Advised {
  WhatIf change;               ///< its gain is over the settings before it
  std::vector<double> before;  ///< s without it, by row
  std::vector<Variable> variables;
};

/// NCCL settings for the sizes of a scenario, of which each counts the same.
struct Advice {
  Forecast before;            ///< as the scenario is
  std::vector<double> after;  ///< s with all that are taken, by row
  double gain = 0;            ///< of all together
  std::vector<Advised> taken;
  std::vector<Advised> mixed;  ///< gain `least_gain` at some size, but less over all
};

/// Takes the setting that gains most, then what gains most on top of it, and so on while there is `least_gain`.
/// \throws UserError if the scenario is not for the flow engine
Advice advise(const World& world, const RunOptions& options = {});

/// \throws UserError: the others tell nothing of choices, or only after minutes.
void require_flow_engine(const World& world);

}  // namespace fabricast
