// A scenario as a person would write it: the keys that are given, each with what it means and what else it may be.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

/// A key of a scenario, and its value as YAML.
struct GivenKey {
  std::string path, value;
};

/// The keys as plain YAML; of a path that is there twice the last value stands.
std::string plain_yaml(const std::vector<GivenKey>& keys);

/// The keys as YAML, each below a comment from the lists of fields, and the names of those left out.
/// \param head  lines of the first comment, without #
/// \throws UserError if they make no scenario
std::string commented_yaml(const std::vector<std::string>& head, const std::vector<GivenKey>& keys);

}  // namespace fabricast
