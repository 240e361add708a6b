// Reads logs of measurements for several verbs.
#pragma once

#include <string>

#include "fabricast/calibrate/import.hpp"

namespace fabricast {

/// The first MiB of a file; empty if it cannot be read. Used to recognize its format.
std::string beginning_of(const std::string& path);

/// Reads a log and prints a warning for each line that cannot be understood.
/// \throws UserError if the file cannot be read
Imported read_log(const std::string& path);

}  // namespace fabricast
