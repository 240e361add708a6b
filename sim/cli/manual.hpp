// The manual page and shell completion, made from the descriptions of all verbs (options.hpp).
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace fabricast {

/// The descriptions of all verbs, including second words, in the order of `fabricast --help`.
std::vector<VerbHelp> help_of_all_verbs();

/// The manual page fabricast(1) in mdoc.
std::string manual_page(const std::vector<VerbHelp>& verbs);
/// Completion scripts.
std::string bash_completion(const std::vector<VerbHelp>& verbs);
std::string zsh_completion(const std::vector<VerbHelp>& verbs);

}  // namespace fabricast
