// Logs of measurements, as verbs read them.
#pragma once

#include <string>

#include "fabricast/calibrate/import.hpp"

namespace fabricast {

/// What a file begins with, a MiB at most; empty if it can not be read.
std::string beginning_of(const std::string& path);

/// Reads a log, and prints what in it can not be read.  \throws UserError if the file can not be
Imported read_log(const std::string& path);

}  // namespace fabricast
