// Changes of a scenario to try.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// A change to try: what it is, and the `--set` words that make it.
struct Trial {
  std::string what;
  std::vector<std::string> set;
};

/// One change without alternatives, as a list; an empty one where it does not apply.
template <class T = Trial>
std::vector<T> one_if(bool applies, std::string what, std::vector<std::string> set) {
  std::vector<T> list;
  if (applies) list.push_back({std::move(what), std::move(set)});
  return list;
}

/// The word that sets a variable of NCCL's: `nccl.env.NCCL_ALGO=ring`.
std::string env_word(std::string_view variable, std::string_view value);
std::string env_word(std::string_view variable, std::int64_t value);

/// The scenario with more `--set` words.
/// \param effective  to_yaml of the scenario, made once for many changes
/// \throws UserError if it has no such key, or can not be changed in that way
Scenario changed(const Scenario& scenario, const std::string& effective, const std::vector<std::string>& set);

/// These sizes and no others.
void set_sizes(Scenario& scenario, const std::vector<std::int64_t>& bytes);

}  // namespace fabricast
