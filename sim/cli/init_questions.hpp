// The questions of `init`: one table serves the dialogue and the options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/scenario/commented.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// The answers so far, by name of the question.
using Answers = std::map<std::string, std::string>;

/// A possible answer.
struct AnswerChoice {
  std::string name, summary;
};

/// A question. The functions get the answers so far and the scenario that they give.
struct InitQuestion {
  const char* name;      ///< of the question and of its option
  const char* argument;  ///< metavariable of the option; N means a whole number of at least 1
  const char* text;      ///< of the question
  const char* doc;       ///< of the option
  /// Whether the question makes sense for this scenario.
  bool (*applies)(const Answers& answers, const Scenario& so_far);
  /// The closed list of answers. Empty: any answer that the scenario reader accepts.
  std::vector<AnswerChoice> (*choices)();
  /// The default answer.
  std::string (*otherwise)(const Answers& answers, const Scenario& so_far);
  /// The key of the scenario that the answer sets.
  std::string (*path)(const Answers& answers);
  /// What to know before answering, for this scenario: shown in brackets behind the text. None: nothing.
  std::string (*note)(const Scenario& so_far) = nullptr;
  /// Refuses answers that the reader accepts, but that are most likely slips. None: nothing.
  /// \throws UserError
  void (*refuse)(const std::string& value, const Scenario& so_far) = nullptr;
};

/// All questions in order. Later ones may depend on earlier answers.
const std::vector<InitQuestion>& init_questions();

/// The keys that the answers set.
/// \param whole  false: without the workload of a step, which is not a valid scenario before the step is split
std::vector<GivenKey> keys_of(const Answers& answers, bool whole);
/// The scenario of these keys, with defaults for required sections that are missing.
/// \throws UserError if the keys are not a valid scenario
Scenario scenario_with(const std::vector<GivenKey>& keys);
/// Adds a split of a training or inference step over the GPUs so that it fits in memory. If the keys already have one,
/// only checks that it fits.
/// \throws UserError if no split fits
void add_split(std::vector<GivenKey>& keys);

}  // namespace fabricast
