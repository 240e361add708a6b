// Changes of a scenario, for questions such as "what would help?".
//
// A change is a list of `--set` words, so a user can repeat it on the command line.
//
//   const ScenarioChanges changes(scenario);
//   const Scenario one_nic = changes.with({"node.nics.count=1"});
//   if (changes.differs(one_nic)) ...                             // it had more before
//
// Values that `complete` had derived are kept by a change: they are part of the effective scenario. Halving the nodes,
// for example, leaves a derived number of replicas that no longer fits, and the change throws; state the number, too.
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
  std::string what;              ///< one phrase, in lower case
  std::vector<std::string> set;  ///< `key=value`, applied in order; empty: the scenario as it is
};

/// A list with one change if it applies, or else an empty list. `T` is Trial or a struct that begins with one.
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

/// The `--set` word for a variable of NCCL: `nccl.env.NCCL_ALGO=ring`. Neither name nor value is checked here.
std::string env_word(std::string_view variable, std::string_view value);
std::string env_word(std::string_view variable, std::int64_t value);

/// A scenario, and changes of it by `--set` words. What all changes have in common, the effective scenario as text, is
/// prepared once. Immutable; `with` and `differs` are safe to call concurrently.
class ScenarioChanges {
 public:
  /// Keeps no reference to `scenario`.
  explicit ScenarioChanges(const Scenario& scenario);
  /// The scenario with further words. Every other key keeps its value, including values that were defaults, and the
  /// result is checked as if it had been read from a file: the text is parsed again, with the files that it names.
  /// \throws UserError if a key does not exist or the changed scenario is invalid
  Scenario with(const std::vector<std::string>& set) const;
  /// Whether some key of a changed scenario has another value. Compares the effective texts.
  bool differs(const Scenario& made) const;

 private:
  std::string file_, effective_;
};

/// Replaces the message sizes of the scenario, in the order given. Sizes are not checked.
void set_sizes(Scenario& scenario, const std::vector<std::int64_t>& bytes);

}  // namespace fabricast
