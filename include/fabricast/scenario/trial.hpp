// Changes of a scenario, for questions such as "what would help?".
//
// A change is a list of `--set` words, so a user can repeat it on the command line.
//
// Pure functions; safe to call concurrently, except that `set_sizes` modifies its argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// A change to try: a description for reports, and the `--set` words that make it.
struct Trial {
  std::string what;
  std::vector<std::string> set;
};

/// A list with one change if it applies, or else an empty list.
template <class T = Trial>
std::vector<T> one_if(bool applies, std::string what, std::vector<std::string> set) {
  std::vector<T> list;
  if (applies) list.push_back({std::move(what), std::move(set)});
  return list;
}

/// The changes of each kind in a table, without kinds that do not apply. \param kinds  functions of the ground
template <class Kinds, class Ground>
std::vector<std::vector<Trial>> trials_of(const Kinds& kinds, const Ground& ground) {
  std::vector<std::vector<Trial>> all;
  for (const auto& kind : kinds)
    if (std::vector<Trial> list = kind(ground); !list.empty()) all.push_back(std::move(list));
  return all;
}

/// The `--set` word for a variable of NCCL: `nccl.env.NCCL_ALGO=ring`.
std::string env_word(std::string_view variable, std::string_view value);
std::string env_word(std::string_view variable, std::int64_t value);

/// A scenario, and changes of it by `--set` words. What all changes have in common is prepared once.
class ScenarioChanges {
 public:
  explicit ScenarioChanges(const Scenario& scenario);
  /// The scenario with further words. Every other key keeps its value, including values that were defaults, and the
  /// result is checked as if it had been read from a file.
  /// \throws UserError if a key does not exist or the changed scenario is invalid
  Scenario with(const std::vector<std::string>& set) const;
  /// Whether some key of a changed scenario has another value.
  bool differs(const Scenario& made) const;

 private:
  std::string file_, effective_;
};

/// Replaces the message sizes of the scenario.
void set_sizes(Scenario& scenario, const std::vector<std::int64_t>& bytes);

}  // namespace fabricast
