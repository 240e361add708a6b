// `explain` of inference: what limits a step, and which changes of the scenario would help. Each change is simulated.
//
// The goal depends on the phase: the time of the step for decode, prefill and all_reduce, tokens per second and GPU for
// both. The table of all changes is sim/answer/inference/settings.cpp; docs/models/inference.md lists them.
//
// Rates are per second and GPU, gains fractions. Results do not depend on the number of threads. The functions only
// read the World and may run concurrently on one World.
//
// Not tried: two changes at once, more GPUs, other requests. Effects of precision on the quality of answers are not
// modelled.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/inference.hpp"
#include "fabricast/report/step_settings.hpp"

namespace fabricast {

/// Changes with a smaller gain are not reported.
inline constexpr double least_inference_gain = 0.005;

/// The figure that changes are judged by.
enum class InferenceGoal { step, tokens };
template <>
struct EnumNames<InferenceGoal> {
  static constexpr std::array<std::string_view, 2> names{"step", "tokens"};
};
/// The goal of the scenario's phase.
InferenceGoal goal_of(const World& world);

/// Time of the step; with disaggregated prefill, of a decode step that overlaps with KV-cache transfers.
Seconds step_time(const InferenceForecast& forecast);
/// Tokens per second and GPU.
double tokens_per_gpu(const InferenceForecast& forecast);

/// A change and its effect.
struct InferenceWhatIf {
  std::string what;
  std::vector<std::string> set;  ///< its `--set` words
  Seconds step;
  double tokens = 0;       ///< per second and GPU
  double gain = 0;         ///< of the goal: fraction of the step that is saved, or of the tokens that is added
  double more_tokens = 0;  ///< fraction of the tokens that is added
  Bytes memory;            ///< per decode GPU
  bool fits = true;        ///< in memory
  /// 90 % interval of the gain of time, for changes that only set variables of NCCL.
  std::optional<GainInterval> interval = {};
};

/// What limits the rate of requests with disaggregated prefill.
enum class ServingLimit { prompts, kv_transfer, decoding };
template <>
struct EnumNames<ServingLimit> {
  static constexpr std::array<std::string_view, 3> names{"prompts", "kv_transfer", "decoding"};
};
/// \pre prefill is disaggregated
ServingLimit limit_of(const World& world, const DisaggregatedForecast& forecast);

/// Time of a decode step per output token of a sequence: with speculation a step yields more than one.
Seconds decoding_per_token(const InferenceForecast& forecast);

/// The passes that should become shorter. For a single phase this is its step. For phase both it is one prompt if
/// prompts (or, with disaggregated prefill, prompts or KV-cache transfers) are the limit, otherwise the decode step.
/// \returns a reference into `forecast`
const TimedPasses& binding_passes(const InferenceForecast& forecast);

/// What passes spend most time on.
struct InferenceBinding {
  std::string part;  ///< the largest component; for communication, the kind of parallelism
  Seconds time;      ///< of it
  /// Index into TimedPasses::collectives of the longest collective of the kind of parallelism that takes most exposed
  /// time; -1 if no communication is exposed, or if `own`.
  int collective = -1;
  bool own = false;  ///< the engine's own all-reduces take longer than any collective of that kind of parallelism
  Seconds exposed;   ///< of that kind of parallelism, including the fixed cost of its calls
};
/// Derived from the forecast alone; nothing is simulated.
InferenceBinding binding_of(const TimedPasses& passes);

/// The changes that apply to a scenario. At most one of a group of alternatives is reported.
std::vector<Alternatives> inference_trials(const InferenceForecast& forecast);

/// Simulates all changes. Changes that the scenario does not accept are skipped.
/// \returns those that gain `least_inference_gain` or more, of the goal or of the tokens, in descending order of the
///          gain of the goal. Of alternatives, the best that fits in memory, and one that does not fit if it gains more
/// \throws Interrupted on Ctrl-C
std::vector<InferenceWhatIf> what_would_help_inference(const InferenceForecast& forecast,
                                                       const RunOptions& options = {});

/// The answer of `explain`.
struct InferenceExplanation {
  InferenceForecast forecast;
  std::vector<InferenceWhatIf> what_ifs;
};
/// The forecast, what limits it, and what would help, as text for people.
std::string explain_inference_text(const InferenceExplanation& explanation);
/// The same as JSON (docs/formats.md).
std::string explain_inference_json(const InferenceExplanation& explanation);

}  // namespace fabricast
