// Files that keys of a scenario name. Errors refer to the key, which has a position in the scenario file.
#pragma once

#include <fstream>
#include <string>

namespace fabricast {

/// The content of a file that the key at `path` names.
/// \throws UserError with that path if the file cannot be read or holds more than `most` bytes
std::string read_named(const std::string& path, const std::string& file, std::size_t most = std::size_t{1} << 28);

/// A stream from such a file, for files that may be too large to hold in memory.
/// \throws UserError with that path if the file cannot be opened
std::ifstream open_named(const std::string& path, const std::string& file);

}  // namespace fabricast
