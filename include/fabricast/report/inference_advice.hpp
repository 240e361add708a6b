// What would help an inference step: changes of its scenario, each simulated, and what they gain. And what binds it.
//
// What is asked for depends on the phase: of decode and prefill the time of the step, of both the tokens per second of a
// GPU. All that is tried stands in one table, sim/report/inference_settings.cpp.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/inference.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

/// A gain below this is not worth a line.
inline constexpr double least_inference_gain = 0.005;

/// What a gain is of.
enum class InferenceGoal { step, tokens };
template <>
struct EnumNames<InferenceGoal> {
  static constexpr std::array<std::string_view, 2> names{"step", "tokens"};
};
InferenceGoal goal_of(const World& world);

/// s of the step; of a decode step beside hand-overs, where there are some.
double step_seconds(const InferenceForecast& forecast);
/// Per second and GPU.
double tokens_per_gpu(const InferenceForecast& forecast);

/// A change and what it does.
struct InferenceWhatIf {
  std::string what;
  std::vector<std::string> set;
  double step = 0;         ///< s
  double tokens = 0;       ///< 1/s of a GPU
  double gain = 0;         ///< part of the step that is saved, or of the tokens that is added
  double more_tokens = 0;  ///< part of the tokens that is added
  double memory = 0;       ///< B of a GPU that decodes
  bool fits = true;
};

/// What limits the rate of requests where prompts have GPUs of their own.
enum class ServingLimit { prompts, kv_transfer, decoding };
template <>
struct EnumNames<ServingLimit> {
  static constexpr std::array<std::string_view, 3> names{"prompts", "kv_transfer", "decoding"};
};
/// \pre prompts have GPUs of their own
ServingLimit limit_of(const World& world, const DisaggregatedForecast& forecast);

/// What is to be shorter: of one phase its step; of both what requests wait for most, a prompt or the decode step.
const TimedPasses& binding_passes(const World& world, const InferenceForecast& forecast);

/// What holds passes up.
struct InferenceBinding {
  std::string part;    ///< that takes most; of exchanges it is a part of parallelism
  double seconds = 0;  ///< of it
  /// The longest exchange of the part of parallelism that is exposed most, by number in the passes' exchanges; -1: none.
  int collective = -1;
  double exposed = 0;  ///< s of that part
};
InferenceBinding binding_of(const TimedPasses& passes);

/// All changes that apply. Of alternatives at most one is told.
std::vector<Alternatives> inference_trials(const World& world, const InferenceForecast& forecast);

/// Tries everything, on all threads. \returns what gains `least_inference_gain` or more, of the goal or of tokens; by
/// gain of the goal
std::vector<InferenceWhatIf> what_would_help_inference(const World& world, const InferenceForecast& forecast,
                                                       const RunOptions& options = {});

struct InferenceExplanation {
  InferenceForecast forecast;
  std::vector<InferenceWhatIf> what_ifs;
};
std::string explain_inference_text(const World& world, const InferenceExplanation& explanation);
std::string explain_inference_json(const World& world, const InferenceExplanation& explanation);

}  // namespace fabricast
