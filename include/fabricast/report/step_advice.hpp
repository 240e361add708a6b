// What would help a step: changes of its scenario, each simulated, and what they gain. And what binds it.
//
// All that is tried stands in one table, sim/report/step_settings.cpp. A change that does not fit in memory is told
// apart: it says what more memory would buy.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/step.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

/// A gain below this, part of the step, is not worth a line.
inline constexpr double least_step_gain = 0.005;

/// A change and what it does.
struct StepWhatIf {
  std::string what;
  std::vector<std::string> set;
  double seconds = 0;  ///< of the step, median over draws
  double gain = 0;     ///< part of the step that is saved
  double memory = 0;   ///< B of the stage that needs most
  bool fits = true;
};

/// What holds a step up.
struct StepBinding {
  std::size_t stage = 0;      ///< the one that waits least for others
  double waits = 0;           ///< s that it waits for others
  double others = 0;          ///< s that the others wait, mean
  Part part = Part::forward;  ///< what it has most more of than the others
  double more = 0;            ///< s of it, above the mean of the others
  /// The exchange of the part of parallelism that is exposed most, by number in StepForecast::exchanges; -1: none is.
  int collective = -1;
  double exposed = 0;  ///< s of that part, mean over all
};
StepBinding binding_of(const StepForecast& forecast);

/// All changes that apply. Of alternatives at most one is told.
std::vector<Alternatives> step_trials(const World& world, const StepForecast& forecast);

/// Tries everything, on all threads. \returns what gains `least_step_gain` or more, the best first
std::vector<StepWhatIf> what_would_help_step(const World& world, const StepForecast& forecast,
                                             const RunOptions& options = {});

struct StepExplanation {
  StepForecast forecast;
  std::vector<StepWhatIf> what_ifs;
};
std::string explain_step_text(const World& world, const StepExplanation& explanation);
std::string explain_step_json(const World& world, const StepExplanation& explanation);

}  // namespace fabricast
