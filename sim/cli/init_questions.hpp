// What `init` asks: one table for the dialogue and for the options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/scenario/commented.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// Answers so far, by name of the question.
using Answers = std::map<std::string, std::string>;

struct AnswerChoice {
  std::string name, summary;
};

struct InitQuestion {
  const char* name;  ///< and of the option
  const char* argument;
  const char* text;
  const char* doc;
  bool (*applies)(const Answers& answers, const Scenario& so_far);
  /// The closed list of answers; empty: what the reader takes.
  std::vector<AnswerChoice> (*choices)();
  std::string (*otherwise)(const Answers& answers, const Scenario& so_far);
  /// The key it stands for.
  std::string (*path)(const Answers& answers);
};

const std::vector<InitQuestion>& init_questions();

/// The keys that the answers make.
/// \param whole  false: without the workload of a step, which makes no scenario before it is split
std::vector<GivenKey> keys_of(const Answers& answers, bool whole);
/// What the answers make so far.  \throws UserError
Scenario scenario_with(const std::vector<GivenKey>& keys);
/// Adds how a step is split, so that it fits in memory; if the keys say how, only sees whether it does.
/// \throws UserError if it does not, however it is split
void add_split(std::vector<GivenKey>& keys);

}  // namespace fabricast
