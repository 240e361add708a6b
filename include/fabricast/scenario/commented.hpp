// Writes a scenario as a person would: only the given keys, each with a comment on its meaning and alternatives.
//
// `fabricast init` uses it. The comments come from the lists of fields (core/fields.hpp), so they never go out of date.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>
#include <vector>

namespace fabricast {

/// A key of a scenario, such as `fabric.kind`, and its value as YAML text.
struct GivenKey {
  std::string path, value;
  std::string why = {};  ///< why it has this value: a sentence behind the key's own comment; may be empty
};

/// The keys as YAML without comments, in the order of their first mention. If a path occurs more than once, its last
/// value is written.
std::string plain_yaml(const std::vector<GivenKey>& keys);

/// The keys as YAML in the order of the fields, each below a comment. Each section ends with the names of its other
/// keys.
/// \param head  lines of the comment at the top, without #
/// \throws UserError if the keys are not a valid scenario
std::string commented_yaml(const std::vector<std::string>& head, const std::vector<GivenKey>& keys);

}  // namespace fabricast
