// `explain` of a training step: what limits it, and which changes of the scenario would help. Each change is simulated.
//
// The table of all changes is sim/answer/step/settings.cpp; docs/models/training-answers.md lists them. Changes that do
// not fit in memory are reported separately: they show what more memory would gain.
//
// Gains are fractions of the step. Results do not depend on the number of threads. The functions only read the World
// and may run concurrently on one World.
//
// Not tried: two changes at once (report/plan.hpp does that for splits), more GPUs, another batch.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/step_settings.hpp"

namespace fabricast {

/// A change and its effect.
struct StepWhatIf {
  std::string what;
  std::vector<std::string> set;  ///< its `--set` words
  Seconds time;                  ///< of the step, median over samples; the mean where packets are lost
  double gain = 0;               ///< fraction of the step that is saved
  Bytes memory;                  ///< per GPU of the stage that needs most
  bool fits = true;              ///< in memory
  /// 90 % interval of the gain, for changes that only set variables of NCCL.
  std::optional<GainInterval> interval = {};
};

/// What limits a step.
struct StepBinding {
  std::size_t stage = 0;      ///< the busiest stage: it waits least for others
  Seconds waits;              ///< time that it waits for others
  Seconds others;             ///< time that the other stages wait, mean
  Part part = Part::forward;  ///< the computation of which it has most more than the mean of the others
  Seconds more;               ///< time of it above that mean; 0 with one stage
  /// Index into StepForecast::collectives of the longest collective of the kind of parallelism that is exposed most;
  /// -1 if no communication is exposed.
  int collective = -1;
  Seconds exposed;  ///< of that kind of parallelism, mean over all GPUs
};
/// Derived from the forecast alone; nothing is simulated.
StepBinding binding_of(const StepForecast& forecast);

/// The changes that apply to a scenario. At most one of a group of alternatives is reported.
std::vector<Alternatives> step_trials(const StepForecast& forecast);

/// Simulates all changes. Changes that the scenario does not accept are skipped.
/// \returns those that gain `least_step_gain` or more, in descending order of the gain. Of alternatives, the best that
///          fits in memory, and one that does not fit if it gains more. If the step itself does not fit, also what
///          makes it fit, whatever it costs
/// \throws Interrupted on Ctrl-C
std::vector<StepWhatIf> what_would_help_step(const StepForecast& forecast, const RunOptions& options = {});

/// The answer of `explain`.
struct StepExplanation {
  StepForecast forecast;
  std::vector<StepWhatIf> what_ifs;
};
/// The forecast, what limits it, and what would help, as text for people.
std::string explain_step_text(const StepExplanation& explanation);
/// The same as JSON (docs/formats.md).
std::string explain_step_json(const StepExplanation& explanation);

}  // namespace fabricast
