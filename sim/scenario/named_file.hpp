// Files that a key of the scenario names.
#pragma once

#include <fstream>
#include <string>

namespace fabricast {

/// The text of a file that the key at `path` names.  \throws UserError with that path
std::string read_named(const std::string& path, const std::string& file);

/// The same for what may be too large to hold.
std::ifstream open_named(const std::string& path, const std::string& file);

}  // namespace fabricast
