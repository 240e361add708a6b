// Files that a key of the scenario names.
#pragma once

#include <fstream>
#include <string>

namespace fabricast {

/// The text of a file that the key at `path` names.
/// \throws UserError with that path, also if the file holds more than `most` bytes
std::string read_named(const std::string& path, const std::string& file, std::size_t most = std::size_t{1} << 28);

/// The same for what may be too large to hold.
std::ifstream open_named(const std::string& path, const std::string& file);

}  // namespace fabricast
