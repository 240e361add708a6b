// The manual page and the shells' completion, written from what the verbs say of themselves.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace fabricast {

/// What all verbs take, in the order of `fabricast --help`.
std::vector<VerbHelp> help_of_all_verbs();

/// fabricast(1), in mdoc.
std::string manual_page(const std::vector<VerbHelp>& verbs);
std::string bash_completion(const std::vector<VerbHelp>& verbs);
std::string zsh_completion(const std::vector<VerbHelp>& verbs);

}  // namespace fabricast
