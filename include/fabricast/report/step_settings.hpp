// Settings of NCCL for a training or inference step: channels, buffers, algorithms and protocols, judged by the time of
// the step (docs/models/step-settings.md).
//
// Collectives and computation share the SMs of a GPU: a channel keeps one. Fewer channels make collectives slower and
// computation beside them faster, so the best number for a step is not that for a collective. A larger buffer makes
// collectives faster and takes memory from each communicator.
//
// Every setting is simulated in the step. Its gain is the share of the time that it saves, with a 90 % interval:
//
//   1 - gain  =  t' / t  exp(+- sqrt( (1.645 s)^2 + c^2 ))
//
//   s   deviation of ln(t' / t) over posterior samples of the parameters, each applied to both
//   c   90 % half-width of  sum w'_k y'_k - sum w_k y_k : the errors y of the collectives (residual/residual.hpp), which
//       are correlated, times the shares w of the step in which GPUs wait for them
//
// A setting whose interval contains 0 is listed, but not recommended.
//
// Results do not depend on the number of threads. The functions only read the World and may run concurrently on one
// World.
//
// Not considered: memory that other software of the job would use instead; several settings that gain only together;
// power. Execution traces are refused: their recorded computation contains what it lost to collectives.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "fabricast/planner/tuner_rules.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

/// Changes of a step with a smaller gain are not reported.
inline constexpr double least_step_gain = 0.005;

/// A kind of collective, and who calls it.
struct StepCollective {
  CollectiveUse use;
  TunedShape shape;    ///< nodes and ranks of its first group
  double callers = 1;  ///< share of all ranks
};

/// The figure that settings are judged by, with the collectives behind it.
struct StepTime {
  /// Of a training step, a decode step or a prompt; with requests (phase both) the time per output token of a GPU.
  Seconds time;
  Seconds passes;  ///< duration of the step, the decode step or the prompt that the following belongs to
  std::vector<StepCollective> collectives;
  /// By Part: share of the time in which GPUs wait for its collectives.
  std::array<double, part_count> exposed{};
  /// SMs that collectives keep, mean over the time.
  double sms = 0;
};

/// Runs the step of a scenario. \pre the workload is a training step or inference
StepTime step_time_of(const World& world, const RunOptions& options = {});

/// GPU memory of NCCL's buffers for the communicators of these collectives (planner/group_buffers.hpp).
Bytes buffers_of(const World& world, const StepTime& time);

/// Changes of NCCL's variables that apply to the communicators of a step: one list of alternatives per kind.
std::vector<Alternatives> nccl_trials(const World& world, const StepTime& time);

/// Number of posterior samples of the parameters behind an interval.
inline constexpr std::size_t gain_samples = 12;

/// A step with what its gain over another one is uncertain by.
struct SampledStep {
  World world;
  StepTime time;
  Seconds first;                 ///< the time on the first sample of the network
  std::vector<Seconds> samples;  ///< the same with each sample of the parameters
};
/// Runs a step with the samples. \param time  of the world, by step_time_of
SampledStep sampled_step(const World& world, StepTime time, const RunOptions& options = {});

/// 90 % interval of a gain: least, likely, most. Shares of the time before.
using GainInterval = std::array<double, 3>;
/// \pre the worlds differ in settings of NCCL only, so that their collectives correspond
GainInterval gain_interval(const SampledStep& before, const SampledStep& after);

/// A setting and its effect on top of those before it.
struct StepSetting {
  std::string what;
  std::vector<std::string> set;     ///< its `--set` words
  std::vector<Variable> variables;  ///< of NCCL
  StepTime time;                    ///< with it
  Bytes buffers;                    ///< with it
  GainInterval gain{};
};

/// What is recommended for a step.
struct StepSettings {
  World world;                      ///< without recommended settings
  StepTime before;                  ///< of it
  Bytes buffers;                    ///< of it
  std::vector<StepSetting> taken;   ///< in the order in which they were taken; every interval is above 0
  std::vector<StepSetting> unsure;  ///< gain `least_step_gain` or more on top of them, but their intervals contain 0
  StepTime after;                   ///< with all that were taken
  GainInterval gain{};              ///< of all that were taken together
};

/// Takes the certain setting that gains most, then the one that gains most on top of it, and so on while the gain is at
/// least `least_step_gain`. Each variable is set once.
/// \throws UserError if the workload is a trace or a collective; Interrupted on Ctrl-C
StepSettings step_settings(const World& world, const RunOptions& options = {});

/// As a shell script that sets the variables.
std::string step_settings_script(const StepSettings& settings);

/// "gain 3.1 %, 1.2 to 4.9"
std::string gain_text(const GainInterval& gain);

/// Rules of a tuner for the collectives of a step: for each of them the algorithm, protocol and number of channels with
/// which the step is fastest. The gain is that of the step.
/// \param certain  only rules whose gain is above 0 in its whole interval
/// \throws as step_settings; UserError also if the scenario has a profile already
std::vector<TunerRules> step_tuner_rules(const World& world, bool certain, const RunOptions& options = {});

/// The scenario with an all-reduce in place of its step, for tables of the calls that the step does not make.
World collective_world(const World& world);

}  // namespace fabricast
